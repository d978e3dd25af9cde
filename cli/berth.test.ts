import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createInstallation, createInstallationWithStore } from "./testing/installation.ts";

describe("berth", () => {
  test("without a command prints the help and exits with 2", async () => {
    const { spawnBerth } = createInstallation();
    const { code, stderr } = await spawnBerth();
    expect(code).toBe(2);
    for (const name of ["serve", "open", "partner", "key", "session", "template", "audit", "doctor", "down", "Examples:"])
      expect(stderr).toContain(name);
  });

  test("exits with 2 for invalid usage and with 1 for a failure, with one sentence and no stack", async () => {
    const { berth, spawnBerth } = await createInstallationWithStore();
    const cases: [string[], number, string][] = [
      [["nonsense"], 2, "unknown command 'nonsense'"],
      [["partner", "create"], 2, "missing required argument 'id'"],
      [["partner", "create", "Not Good"], 2, "lowercase letters"],
      [["partner", "create", "acme", "--max-sessions", "many"], 2, "or none"],
      [["partner", "create", "acme", "--origin", "acme.example"], 2, "https://"],
      [["key", "issue", "acme", "--expires", "90"], 2, "Add the unit to 90, such as 90d for days"],
      [["key", "rotate", "key_x", "--overlap", "soon"], 2, "such as 90s, 5m, 2h or 1d"],
      [["session", "list", "--status", "gone"], 2, "running, paused, destroyed"],
      [["key", "list", "nobody"], 1, "There is no partner nobody"],
      [["key", "revoke", "key_x"], 1, "There is no key key_x"],
      [["session", "show", "ses_x"], 1, "There is no session ses_x"],
      [["partner", "update", "nobody", "--rate", "5"], 1, "There is no partner nobody"],
    ];
    for (const [args, code, sentence] of cases) {
      const { stderr, ...result } = await berth(...args);
      expect({ args, ...result }).toEqual({ args, code, stdout: "" });
      expect(stderr).toMatch(/^berth: /);
      expect(stderr).toContain(sentence);
      expect(stderr).not.toMatch(/\n\s+at /);
    }
    // The same from a real process, as a shell sees it.
    for (const [args, code, sentence] of cases.slice(-1))
      expect(await spawnBerth(...args)).toEqual({ code, stdout: "", stderr: `berth: ${sentence}\n` });
  });

  test("an invalid setting fails every command with its message", async () => {
    const { spawnBerth } = createInstallation({ BERTH_PORT: "many", BERTH_DRIVER: "none" });
    for (const command of [["serve"], ["partner", "list"]]) {
      const { code, stderr } = await spawnBerth(...command);
      expect(code).toBe(1);
      expect(stderr).toContain('berth: BERTH_PORT is "many"; allowed: a whole number from 0 to 65535.');
      expect(stderr).toContain('berth: BERTH_DRIVER is "none"; allowed: ');
    }
  });

  test("no command but serve creates a store, and each says where it looked", async () => {
    const { berth, dataDir } = createInstallation();
    const commands = [["partner", "create", "acme"], ["key", "list"], ["session", "list"], ["audit"], ["reseal"]];
    for (const args of commands)
      expect(await berth(...args)).toEqual({
        code: 1,
        stdout: "",
        stderr: `berth: There is no installation of Berth in ${dataDir}. Set BERTH_DATA_DIR to the data folder of yours, or create one with: berth serve\n`,
      });
    expect(readdirSync(dataDir)).toEqual([]);
  });

  test("an older Node runs the pinned one", async () => {
    const { stdout } = await createInstallation().spawnBerth("--version");
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
