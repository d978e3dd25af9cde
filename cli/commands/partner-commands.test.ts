import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sharedPostgres } from "../../tests/support/databases/postgres.ts";
import { createInstallationWithStore } from "../testing/installation.ts";

describe("partners and keys", () => {
  test("a partner is created with its first key, changed, suspended and listed", async () => {
    const { berth, json } = await createInstallationWithStore();
    const made = await json(
      "partner",
      "create",
      "acme",
      "--name",
      "Acme Inc",
      "--origin",
      "https://a.example",
      "--origin",
      "https://b.example",
      "--max-sessions",
      "5",
    );
    expect(made).toMatchObject({
      id: "acme",
      name: "Acme Inc",
      origins: ["https://a.example", "https://b.example"],
      maxSessions: 5,
      key: { key: expect.stringMatching(/^berth_[0-9a-f]{64}$/) },
    });
    expect(
      await json("partner", "update", "acme", "--max-sessions", "none", "--rate", "60", "--idle-timeout", "1h", "--origin", "none"),
    ).toMatchObject({
      maxSessions: null,
      ratePerMinute: 60,
      idleTimeoutMs: 3_600_000,
      origins: [],
    });
    expect(await json("partner", "update", "acme", "--auto-resume", "yes", "--on-timeout", "destroy", "--max-timeout", "8h")).toMatchObject(
      {
        autoResume: true,
        onTimeout: "destroy",
        maxTimeoutMs: 28_800_000,
      },
    );
    expect(await json("partner", "update", "acme", "--auto-resume", "no", "--on-timeout", "none", "--max-timeout", "none")).toMatchObject({
      autoResume: false,
      onTimeout: null,
      maxTimeoutMs: null,
    });
    expect(await json("partner", "suspend", "acme")).toMatchObject({ state: "suspended" });
    expect(await json("partner", "activate", "acme")).toMatchObject({ state: "active" });
    const { stdout } = await berth("partner", "list");
    expect(stdout.split("\n")[0]).toMatch(/^PARTNER +NAME +STATE/);
    expect(stdout).toMatch(/^acme +Acme Inc +active/m);
    expect(stdout).not.toContain("\u001B");
    expect((await berth("partner", "create", "acme")).stderr).toBe("berth: There is a partner acme already\n");
  });

  test("a key is issued, rotated and revoked, and lists never show it", async () => {
    const { berth, json } = await createInstallationWithStore();
    const first = ((await json("partner", "create", "acme")) as { key: { id: string; key: string } }).key;
    const rotated = await json("key", "rotate", first.id);
    expect(rotated).toMatchObject({
      key: { partnerId: "acme", state: "active", key: expect.stringMatching(/^berth_/) },
      old: { id: first.id, state: "active", expiresAt: expect.any(String) },
    });
    expect(await json("key", "revoke", first.id)).toMatchObject({ key: { id: first.id, state: "revoked" } });
    const issued = (await json("key", "issue", "acme", "--expires", "90d")) as { key: object };
    expect(issued).toMatchObject({ key: { expiresAt: expect.any(String), key: expect.stringMatching(/^berth_/) } });
    expect(Object.keys(issued.key)).toEqual(Object.keys(first));
    const renewed = (await json("key", "rotate", (issued.key as { id: string }).id)) as { key: { id: string; expiresAt: string } };
    expect(Date.parse(renewed.key.expiresAt) - Date.now()).toBeGreaterThan(89 * 24 * 3_600_000);
    const unlimited = await json("key", "rotate", renewed.key.id, "--expires", "none");
    expect(unlimited).toMatchObject({ key: { expiresAt: null } });
    const list = await berth("key", "list", "acme");
    expect(list.stdout.trim().split("\n")).toHaveLength(6);
    expect(list.stdout).not.toContain(first.key);
    expect((await berth("key", "rotate", first.id)).stderr).toContain("is revoked; issue a new one instead");
    const audit = (await json("audit", "--partner", "acme")) as { action: string; actor: string }[];
    expect(audit.map((entry) => entry.action)).toEqual([
      "key.issue",
      "key.rotate",
      "key.issue",
      "key.rotate",
      "key.issue",
      "key.revoke",
      "key.issue",
      "key.rotate",
      "key.issue",
      "partner.create",
    ]);
    expect(new Set(audit.map((entry) => entry.actor))).toEqual(new Set(["cli"]));
  });

  test("a partner has its own logo and colour", async () => {
    const { berth, json } = await createInstallationWithStore();
    await json("partner", "create", "acme", "--accent", "#7c3aed");
    const logo = join(import.meta.dirname, "../../web/public/assets/icon.svg");
    expect(await json("partner", "update", "acme", "--logo", logo, "--hide-agent", "yes", "--offer-ssh", "yes")).toMatchObject({
      branding: { accent: "#7c3aed", hideAgent: true, offerSsh: true, logo: expect.stringMatching(/^data:image\/svg\+xml;base64,/) },
    });
    expect((await berth("partner", "update", "acme", "--logo", "none")).stdout).toMatch(/branding +#7c3aed, agent hidden/);
    expect((await berth("partner", "update", "acme", "--accent", "purple")).stderr).toContain("a colour such as #7c3aed");
    expect((await berth("partner", "update", "acme", "--logo", "/no/logo.png")).stderr).toContain("There is no file /no/logo.png");
    expect(await json("partner", "list")).toMatchObject([{ branding: { accent: "#7c3aed", hideAgent: true, logo: null } }]);
  });

  test("a partner is deleted with its keys after a confirmation, and the audit log says so", async () => {
    const { berth, json } = await createInstallationWithStore();
    await json("partner", "create", "acme");
    const unconfirmed = await berth("partner", "delete", "acme");
    expect([unconfirmed.code, unconfirmed.stderr]).toEqual([2, expect.stringContaining("Confirmation needs a terminal. Add --yes")]);
    expect(await json("key", "list", "acme")).toHaveLength(1);
    expect((await berth("partner", "delete", "acme", "--yes")).stdout).toBe(
      "The partner acme is deleted. Its entries in the audit log stay.\n",
    );
    expect((await berth("partner", "delete", "acme", "--yes")).stderr).toBe("berth: There is no partner acme\n");
    expect(await json("key", "list")).toEqual([]);
    expect(await json("audit", "--partner", "acme")).toMatchObject([{ action: "partner.delete" }, {}, {}]);
  });

  test("partners and keys work on PostgreSQL", async () => {
    await using postgres = await sharedPostgres();
    const { json } = await createInstallationWithStore({
      BERTH_DATABASE_URL: await postgres.createDatabase(),
      BERTH_MASTER_KEY: "ab".repeat(32),
    });
    await json("partner", "create", "acme");
    expect(await json("key", "list")).toMatchObject([{ partnerId: "acme", state: "active" }]);
    expect(await json("audit")).toHaveLength(2);
  });

  test("with --json failures are JSON too", async () => {
    const { stderr, code } = await (await createInstallationWithStore()).berth("key", "list", "nobody", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toEqual({ error: "There is no partner nobody" });
  });
});
