import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createBerth, UnauthorizedError, type Berth as Client } from "../../client/index.ts";
import { readConfig } from "../../server/config/config.ts";
import { openDriver } from "../../server/drivers/index.ts";
import { silentLog } from "../../server/log.ts";
import { samplesOf } from "../support/docs/samples.ts";
import { machine, testWith } from "../support/machine.ts";
import { daemonRuntime } from "../support/runtime.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { download, PYTHON } from "./clients/python-runner.ts";
import { runCli, runCliForJson, runCliForJsonHere, runCliHere } from "../support/servers/cli.ts";

// Programs that people run beside a server: the command line, and the recipes of the documentation.
let server: Berth;
let berth: Client;
const root = join(import.meta.dirname, "../..");

beforeAll(async () => {
  await daemonRuntime();
  server = await startBerth();
  berth = createBerth({ baseUrl: server.url, apiKey: server.key });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

test("a command of the server's user finds the address of the running server", async () => {
  const { BERTH_PORT: _port, ...env } = server.env;
  const { url } = await runCliForJson<{ url: string }>({ ...server, env }, "console", "token");
  expect(url).toBe(`${server.url}/console`);
});

test("an operator destroys and resumes sessions, and deletes a partner, from the command line while the server runs", async () => {
  const session = await berth.sessions.create({ externalUserId: "cli", autoStartAgent: false });
  expect((await runCliHere(server, "session", "list")).stdout).toContain(session.sessionId);
  const { stdout } = await runCli(server, "top");
  expect(stdout).toMatch(/^1 running, 0 paused .* CPU .* MB memory/);
  expect(stdout).toMatch(new RegExp(`${session.sessionId} +demo +cli +running +default +(now|.* ago) +[0-9.]+ % +[0-9]+ MB +[0-9]+`));
  const { key } = await runCliForJsonHere<{ key: { key: string } }>(server, "partner", "create", "leaving");
  const leaving = createBerth({ baseUrl: server.url, apiKey: key.key });
  await Promise.all(["ada", "bob"].map((externalUserId) => leaving.sessions.create({ externalUserId, autoStartAgent: false })));
  const sleeper = await berth.sessions.create({ externalUserId: "sleeper", autoStartAgent: false });
  await sleeper.pause();

  // A running server takes over such orders every ten seconds.
  const [destroyed, deleted, woken] = await Promise.all([
    runCliForJson(server, "session", "destroy", session.sessionId),
    runCliForJson(server, "partner", "delete", "leaving", "--yes"),
    runCliForJson(server, "session", "wake", sleeper.sandboxId),
  ]);
  expect(destroyed).toEqual({ sessionId: session.sessionId, status: "destroyed" });
  expect((await session.refresh()).status).toBe("destroyed");
  expect(deleted).toEqual({ id: "leaving", deleted: true });
  await expect(leaving.sessions.list().page()).rejects.toThrow(UnauthorizedError);
  expect((await runCliHere(server, "partner", "list")).stdout).not.toContain("leaving");

  expect(woken).toEqual({ sessionId: sleeper.sessionId, status: "running" });
  expect((await sleeper.exec("echo awake")).stdout).toBe("awake\n");
  const wake = () => runCliHere(server, "session", "wake", sleeper.sessionId);
  expect((await wake()).stdout).toBe(`The session ${sleeper.sessionId} is running.\n`);
  await sleeper.destroy();
  expect(await wake()).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no session") });

  await using driver = await openDriver(readConfig(server.env).config, silentLog);
  expect(await driver.list(AbortSignal.timeout(30_000))).toEqual([]);
});

test("`berth open` creates a session through the server and prints a link that works", async () => {
  const git = { url: "http://127.0.0.1:9/shop.git", ref: "main" };
  const options = ["--user", "opener", "--idle-timeout", "30m", "--git", git.url, "--ref", git.ref];
  const opened = await runCliForJson<{ sessionId: string; url: string }>(server, "open", ...options);
  const session = await berth.sessions.get(opened.sessionId);
  expect(session).toMatchObject({ status: "running", externalUserId: "opener", idleTimeoutMs: 1_800_000, source: { git } });
  expect((await fetch(opened.url, { redirect: "manual" })).status).toBe(303);
  const { code, stderr } = await runCliHere(server, "open", "--template", "none");
  expect([code, stderr]).toEqual([1, "berth: The server answered 400: Validation failed (template: Not a configured template).\n"]);
  await session.destroy();
  const stopped = await runCliHere({ ...server, env: { ...server.env, BERTH_PORT: "9" } }, "open");
  expect(stopped.stderr).toContain("No server answers at http://127.0.0.1:9. Start it with `berth serve`");
});

for (const [language, needs, start] of [
  ["bash", [machine.command("curl"), machine.command("jq"), machine.command("git")], ["bash"]],
  ["ts", [machine.command("git")], [process.execPath]],
  ["python", [...machine.python, machine.command("git")], [PYTHON]],
] as const)
  testWith([...needs], `the recipe in docs/sandbox.md works as written, in ${language}`, async () => {
    const program = samplesOf("docs/sandbox.md").findLast((sample) => sample.language === language)!.text;
    // Inside the checkout, where Node finds the client.
    const folder = mkdtempSync(join(root, "tests/api/.recipe-"));
    try {
      writeFileSync(join(folder, "test.sh"), "echo all tests passed\n[ ! -e failing ]\n");
      writeFileSync(join(folder, "recipe.ts"), program);
      const git = (...args: string[]) => execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd: folder });
      git("init", "-q");
      git("add", "test.sh");
      git("commit", "-qm", "first");
      const [command, ...args] = start;
      const wheel = join(folder, "berth.whl");
      await download(`${server.url}/clients/berth.whl`, wheel);
      const env = { ...process.env, BASE: server.url, KEY: server.key, PYTHONPATH: wheel };
      const { stdout } = await promisify(execFile)(command, [...args, "recipe.ts"], { cwd: folder, env });
      expect(stdout).toMatch(/all tests passed\n(?:.*\n)*exit 0\n$/);
      expect(readFileSync(join(folder, "results.zip"), "latin1")).toMatch(/^PK/);
      // Tests that fail.
      writeFileSync(join(folder, "failing"), "");
      git("add", "failing");
      git("commit", "-qm", "second");
      rmSync(join(folder, "results.zip"));
      const failed = promisify(execFile)(command, [...args, "recipe.ts"], { cwd: folder, env });
      await expect(failed).rejects.toMatchObject({ code: 1, stdout: expect.stringMatching(/all tests passed\n(?:.*\n)*exit 1\n$/) });
      expect(readFileSync(join(folder, "results.zip"), "latin1")).toMatch(/^PK/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
