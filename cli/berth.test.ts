import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { silentLog } from "@berth/server/log.ts";
import { addModelUsage } from "@berth/server/store/model-usage.ts";
import { openStore } from "@berth/server/store/open.ts";
import { insertSessionRow, sessionRow } from "@berth/server/store/testing/session-row.ts";
import { startPostgres } from "../tests/support/databases/postgres.ts";

// The commands as an operator runs them: real processes on a data folder.
const bin = join(import.meta.dirname, "bin.js");
// Each command is two processes, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 120_000 });
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

describe("berth", () => {
  test("without a command shows what there is, and that this was no command", async () => {
    const { berth } = installation();
    const { code, stderr } = await berth();
    expect(code).toBe(2);
    for (const name of ["serve", "partner", "key", "session", "template", "audit", "doctor", "down", "Examples:"])
      expect(stderr).toContain(name);
  });

  test("tells wrong usage (2) from failure (1), in one sentence without a stack", async () => {
    const { berth } = installation();
    const cases: [string[], number, string][] = [
      [["nonsense"], 2, "unknown command 'nonsense'"],
      [["partner", "create"], 2, "missing required argument 'id'"],
      [["partner", "create", "Not Good"], 2, "lowercase letters"],
      [["partner", "create", "acme", "--max-sessions", "many"], 2, "or none"],
      [["partner", "create", "acme", "--origin", "acme.example"], 2, "https://"],
      [["session", "list", "--status", "gone"], 2, "running, paused, destroyed"],
      [["key", "list", "nobody"], 1, "There is no partner nobody"],
      [["key", "revoke", "key_x"], 1, "There is no key key_x"],
      [["session", "show", "ses_x"], 1, "There is no session ses_x"],
      [["partner", "update", "nobody", "--rate", "5"], 1, "There is no partner nobody"],
    ];
    const results = await inPairs(cases, ([args]) => berth(...args));
    results.forEach(({ code, stderr, stdout }, at) => {
      expect([cases[at]?.[0], code, stdout]).toEqual([cases[at]?.[0], cases[at]?.[1], ""]);
      expect(stderr).toMatch(/^berth: /);
      expect(stderr).toContain(cases[at]?.[2]);
      expect(stderr).not.toMatch(/\n\s+at /);
    });
  });

  test("a wrong setting stops every command with its sentence", async () => {
    const { berth } = installation({ BERTH_PORT: "many", BERTH_DRIVER: "none" });
    for (const command of [["serve"], ["partner", "list"]]) {
      const { code, stderr } = await berth(...command);
      expect(code).toBe(1);
      expect(stderr).toContain('berth: BERTH_PORT is "many"; allowed: a whole number from 0 to 65535.');
      expect(stderr).toContain('berth: BERTH_DRIVER is "none"; allowed: ');
    }
  });

  test("an older Node hands over to the pinned one", async () => {
    const { stdout } = await installation().berth("--version");
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("partners and keys", () => {
  test("a partner is made with its first key, changed, suspended and listed", async () => {
    const { berth, json } = installation();
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
    expect(await json("partner", "update", "acme", "--max-sessions", "none", "--rate", "60", "--origin", "none")).toMatchObject({
      maxSessions: null,
      ratePerMinute: 60,
      origins: [],
    });
    expect(await json("partner", "suspend", "acme")).toMatchObject({ state: "suspended" });
    expect(await json("partner", "activate", "acme")).toMatchObject({ state: "active" });
    const { stdout } = await berth("partner", "list");
    expect(stdout.split("\n")[0]).toMatch(/^PARTNER +NAME +STATE/);
    expect(stdout).toMatch(/^acme +Acme Inc +active/m);
    expect(stdout).not.toContain("\u001B");
    expect((await berth("partner", "create", "acme")).stderr).toBe("berth: There is a partner acme already\n");
  });

  test("a key is issued, rotated and revoked; lists never show it", async () => {
    const { berth, json } = installation();
    const first = ((await json("partner", "create", "acme")) as { key: { id: string; key: string } }).key;
    const rotated = await json("key", "rotate", first.id);
    expect(rotated).toMatchObject({
      partnerId: "acme",
      state: "active",
      old: { id: first.id, state: "active", expiresAt: expect.any(String) },
    });
    expect(await json("key", "revoke", first.id)).toMatchObject({ id: first.id, state: "revoked" });
    expect(await json("key", "issue", "acme", "--expires", "90d")).toMatchObject({ expiresAt: expect.any(String) });
    const list = await berth("key", "list", "acme");
    expect(list.stdout.trim().split("\n")).toHaveLength(4);
    expect(list.stdout).not.toContain(first.key);
    expect((await berth("key", "rotate", first.id)).stderr).toContain("is revoked; issue a new one instead");
    const audit = (await json("audit", "--partner", "acme")) as { action: string; actor: string }[];
    expect(audit.map((entry) => entry.action)).toEqual([
      "key.issue",
      "key.revoke",
      "key.issue",
      "key.rotate",
      "key.issue",
      "partner.create",
    ]);
    expect(new Set(audit.map((entry) => entry.actor))).toEqual(new Set(["cli"]));
  });

  test("the same on PostgreSQL", async () => {
    await using postgres = await startPostgres();
    const { json } = installation({ BERTH_DATABASE_URL: await postgres.createDatabase(), BERTH_MASTER_KEY: "ab".repeat(32) });
    await json("partner", "create", "acme");
    expect(await json("key", "list")).toMatchObject([{ partnerId: "acme", state: "active" }]);
    expect(await json("audit")).toHaveLength(2);
  });

  test("failures are JSON too when JSON is asked for", async () => {
    const { stderr, code } = await installation().berth("key", "list", "nobody", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toEqual({ error: "There is no partner nobody" });
  });
});

test("a session is listed, and shown with the tokens its agent has used", async () => {
  const { berth, json, dataDir } = installation();
  await json("partner", "create", "acme");
  const store = await openStore({ file: join(dataDir, "berth.db"), log: silentLog });
  const session = await insertSessionRow(store.db, sessionRow(Date.now(), { external_user_id: "ada" }));
  const user = { sessionId: session.id, partnerId: "acme", externalUserId: "ada" };
  await addModelUsage(store.db, user, { input: 1200, output: 34 }, Date.now());
  await store[Symbol.asyncDispose]();
  expect((await berth("session", "list")).stdout).toMatch(new RegExp(`^${session.id} +acme +ada +running +default +`, "m"));
  expect(await json("session", "show", session.sandbox_id)).toMatchObject({
    sessionId: session.id,
    status: "running",
    modelTokens: { input: 1200, output: 34 },
  });
  expect((await berth("session", "show", session.id)).stdout).toMatch(/^model tokens +1200 in, 34 out$/m);
});

test("what partners have stored never acts on the operator's terminal, as text or as JSON", async () => {
  const { berth, json, dataDir } = installation();
  await json("partner", "create", "acme", "--name", "Acme\u009b2J");
  const hostile = "\u001b[2J\u009b2J\u202eada";
  const store = await openStore({ file: join(dataDir, "berth.db"), log: silentLog });
  const metadata = JSON.stringify({ note: hostile });
  const session = await insertSessionRow(store.db, sessionRow(Date.now(), { external_user_id: hostile, metadata, template: hostile }));
  await store[Symbol.asyncDispose]();
  for (const args of [
    ["session", "list"],
    ["session", "show", session.id],
    ["partner", "list"],
    ["session", "show", hostile],
  ])
    for (const options of [[], ["--json"]]) {
      const { stdout, stderr } = await berth(...args, ...options);
      expect(stdout + stderr).not.toMatch(/(?!\n)[\p{Cc}\u202e]/u);
    }
  expect(await json("session", "show", session.id)).toMatchObject({ externalUserId: hostile, metadata: { note: hostile } });
});

describe("doctor and templates", () => {
  test("doctor finds a fresh machine in order and changes nothing", async () => {
    const { json, dataDir } = installation({ BERTH_DRIVER: "process" });
    const findings = (await json("doctor")) as { topic: string; state: string; text: string }[];
    expect(findings.filter((finding) => finding.state === "bad")).toEqual([]);
    expect(new Set(findings.map((finding) => finding.topic))).toEqual(
      new Set(["version", "setting", "data folder", "templates", "driver", "agent", "store"]),
    );
    const agents = findings.filter((finding) => finding.topic === "agent").map(({ text }) => text);
    expect(agents).toEqual([expect.stringMatching(/^goose: /), expect.stringMatching(/^opencode: /)]);
    expect(() => rmSync(join(dataDir, "berth.db"))).toThrow("ENOENT");
  });

  test("doctor names what is wrong and fails", async () => {
    const { berth, dataDir } = installation({ BERTH_DRIVER: "process" });
    writeFileSync(join(dataDir, "berth.db"), "this is no database, but it is long enough to be looked at as one".repeat(20));
    const { code, stdout } = await berth("doctor");
    expect(code).toBe(1);
    expect(stdout).toMatch(/✗ store .*The database does not answer: file is not a database/);
  });

  test("templates are listed, and a fault in the file is told with its line", async () => {
    const { json, berth, dataDir } = installation({ BERTH_TEMPLATES: "templates.yaml" });
    writeFileSync(join(dataDir, "templates.yaml"), "small:\n  memoryMb: 256\n");
    expect((await json("template", "list")) as object[]).toMatchObject([{ name: "default" }, { name: "small", memoryMb: 256 }]);
    writeFileSync(join(dataDir, "templates.yaml"), "small:\n  memoryMb: lots\n");
    const { code, stderr } = await berth("template", "list");
    expect(code).toBe(1);
    expect(stderr).toMatch(/templates\.yaml, line 2: .*memoryMb/);
  });
});

test("a template whose agent is not installed on this machine says so, in the list and to the doctor", async () => {
  const { json, berth, dataDir } = installation({ BERTH_DRIVER: "process", BERTH_TEMPLATES: "templates.yaml" });
  writeFileSync(join(dataDir, "templates.yaml"), "lost:\n  agent: [no-agent, no-other]\nfound:\n  agent: [no-agent, sh]\n");
  expect(await json("template", "list")).toMatchObject([
    { name: "default" },
    { name: "lost", agentHere: { state: "missing", names: ["no-agent", "no-other"] } },
    { name: "found", agentHere: { state: "installed", name: "sh" } },
  ]);
  expect((await berth("template", "list")).stdout).toMatch(/^lost .* no-agent, no-other: not installed here$/m);
  const findings = (await json("doctor")) as { topic: string; state: string; text: string }[];
  expect(findings).toContainEqual({
    topic: "agent",
    state: "note",
    text: "the template lost has none on this machine: not installed: no-agent, no-other",
  });
});

describe("serve", () => {
  test("prints the first key once with a curl command, ends on SIGTERM, and shows no key at the second start", async () => {
    const env = { BERTH_DRIVER: "process", BERTH_PORT: "0", BERTH_POOL_SIZE: "0", BERTH_BASE_URL: "http://localhost:1" };
    const { dataDir, settings } = installation(env);
    const first = await serveUntilStarted(dataDir, settings);
    expect(first.stdout).toMatch(/curl -X POST http:\/\/localhost:1\/api\/b2b\/sessions/);
    expect(first.stdout).toMatch(/Authorization: Bearer berth_[0-9a-f]{64}"/);
    expect(first.stdout).toContain("Nothing is isolated");
    expect(first.stdout).toMatch(/to stop +Ctrl-C ends the server, and sandboxes run on; npx berth down ends them too/);
    expect(first.code).toBe(0);
    const second = await serveUntilStarted(dataDir, settings);
    expect(second.stdout).toContain("is running at");
    expect(second.stdout).not.toMatch(/berth_[0-9a-f]{64}/);
  });

  test("does not repeat a key that the operator has set", async () => {
    const key = `berth_${"ab".repeat(32)}`;
    const { dataDir, settings } = installation({ BERTH_DRIVER: "process", BERTH_PORT: "0", BERTH_POOL_SIZE: "0", BERTH_API_KEY: key });
    const { stdout } = await serveUntilStarted(dataDir, settings);
    expect(stdout).toContain("Bearer $BERTH_API_KEY");
    expect(stdout).not.toContain(key);
  });

  test("says in a sentence why it cannot start", async () => {
    const { dataDir, settings } = installation({ BERTH_DRIVER: "process", BERTH_POOL_SIZE: "0" });
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const busy = await installation({ ...settings, BERTH_PORT: String(port), BERTH_DATA_DIR: dataDir }).berth("serve");
    taken.close();
    expect(busy).toMatchObject({ code: 1, stdout: "" });
    expect(busy.stderr).toContain(`berth: Port ${port} on 127.0.0.1 is taken; stop what listens there, or set BERTH_PORT to another.`);
    const absent = installation({ BERTH_DATABASE_URL: "postgres://nobody@127.0.0.1:9/berth", BERTH_MASTER_KEY: "ab".repeat(32) });
    const { code, stderr } = await absent.berth("serve");
    expect(code).toBe(1);
    expect(stderr).toContain("berth: The database does not answer: connect ECONNREFUSED 127.0.0.1:9");
  });
});

function installation(env: Record<string, string> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), "berth-cli-"));
  folders.push(dataDir);
  const settings = { PATH: process.env.PATH ?? "", HOME: dataDir, BERTH_DATA_DIR: dataDir, ...env };
  const berth = (...args: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      execFile("node", [bin, ...args], { cwd: dataDir, env: settings }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
      );
    });
  const json = async (...args: string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await berth(...args, "--json");
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout);
  };
  return { berth, json, dataDir, settings };
}

async function serveUntilStarted(cwd: string, env: Record<string, string>): Promise<{ code: number | null; stdout: string }> {
  const child = spawn("node", [bin, "serve"], { cwd, env, stdio: ["ignore", "pipe", "ignore"] });
  let stdout = "";
  child.stdout.on("data", (chunk) => {
    stdout += String(chunk);
    if (stdout.includes("is running at")) child.kill("SIGTERM");
  });
  // Not `exit`, which may come before the last words.
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout };
}

async function inPairs<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += 2) results.push(...(await Promise.all(items.slice(at, at + 2).map(work))));
  return results;
}
