import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createServer, type AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { machine, testWith } from "../../../tests/support/machine.ts";
import { createInstallation, serveUntilStarted } from "../../testing/installation.ts";

// Other servers may run on this machine. Then the command asks which one is meant, and names this one too.
async function findsServerFromElsewhere(dataDir: string): Promise<void> {
  const elsewhere = createInstallation({ BERTH_DATA_DIR: "" });
  const { code, stdout, stderr } = await elsewhere.spawnBerth("partner", "list");
  expect(stderr).toContain(dataDir);
  if (code === 0) expect(stdout).toMatch(/^demo +demo +active/m);
  else expect(stderr).toMatch(/^berth: Several servers run on this machine\. Set BERTH_DATA_DIR to the data folder of one of them: /);
  expect(readdirSync(elsewhere.dataDir)).toEqual([]);
}

// The command gets only the data folder, like that of an operator outside of the service's environment.
async function showsSettingsOfServer(dataDir: string): Promise<void> {
  const elsewhere = createInstallation({ BERTH_DATA_DIR: dataDir });
  expect(await elsewhere.json("template", "list")).toEqual([
    expect.objectContaining({ name: "default" }),
    expect.objectContaining({ name: "large" }),
  ]);
  expect(await elsewhere.json("usage")).toMatchObject({ currency: "EUR" });
  // The command's own settings come first.
  const own = createInstallation({ BERTH_DATA_DIR: dataDir, BERTH_PRICE_CURRENCY: "USD" });
  expect(await own.json("usage")).toMatchObject({ currency: "USD" });
}

describe("serve", () => {
  test("prints the first key once with a curl command, and stops on SIGTERM", async () => {
    const env = {
      BERTH_DRIVER: "process",
      BERTH_PORT: "0",
      BERTH_POOL_SIZE: "0",
      BERTH_BASE_URL: "http://localhost:1",
      BERTH_TEMPLATES: "templates.yaml",
      BERTH_PRICE_CURRENCY: "EUR",
      BERTH_PRICE_RUNNING_HOUR: "0.5",
    };
    const { dataDir, settings } = createInstallation(env);
    writeFileSync(join(dataDir, "templates.yaml"), "large:\n  memoryMb: 4096\n");
    const first = await serveUntilStarted(dataDir, settings, () => findsServerFromElsewhere(dataDir));
    expect(first.stdout).toMatch(/curl -X POST http:\/\/localhost:1\/api\/b2b\/sessions/);
    expect(first.stdout).toMatch(/Authorization: Bearer berth_[0-9a-f]{64}"/);
    expect(first.stdout).toContain("Sandboxes are not isolated");
    expect(first.stdout).toMatch(/to stop +Ctrl-C stops the server, but sandboxes keep running; npx berth down stops them too/);
    expect(first.code).toBe(0);
    const second = await serveUntilStarted(dataDir, settings, () => showsSettingsOfServer(dataDir));
    expect(second.stdout).toContain("is running at");
    expect(second.stdout).not.toMatch(/berth_[0-9a-f]{64}/);
  });

  test("does not print a configured key", async () => {
    const key = `berth_${"ab".repeat(32)}`;
    const { dataDir, settings } = createInstallation({
      BERTH_DRIVER: "process",
      BERTH_PORT: "0",
      BERTH_POOL_SIZE: "0",
      BERTH_API_KEY: key,
    });
    const { stdout } = await serveUntilStarted(dataDir, settings);
    expect(stdout).toContain("Bearer $BERTH_API_KEY");
    expect(stdout).not.toContain(key);
  });

  // On other systems the command line of a process is not a file.
  testWith(machine.linux, "restarts itself in the same process with the flags of the garbage collector", async () => {
    const { dataDir, settings } = createInstallation({ BERTH_DRIVER: "process", BERTH_PORT: "0", BERTH_POOL_SIZE: "0" });
    let commandLine: string[] = [];
    const { code } = await serveUntilStarted(dataDir, settings, async (pid) => {
      commandLine = (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0");
    });
    expect(commandLine).toContain("--max-semi-space-size=4");
    expect(commandLine.filter((argument) => argument.startsWith("--v8-pool-size="))).toHaveLength(1);
    expect(code).toBe(0);
  });

  test("explains in a sentence why it cannot start", async () => {
    const { dataDir, settings } = createInstallation({ BERTH_DRIVER: "process", BERTH_POOL_SIZE: "0" });
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const busy = await createInstallation({ ...settings, BERTH_PORT: String(port), BERTH_DATA_DIR: dataDir }).spawnBerth("serve");
    taken.close();
    expect(busy).toMatchObject({ code: 1, stdout: "" });
    expect(busy.stderr).toContain(
      `berth: Port ${port} on 127.0.0.1 is already in use. Stop the program that listens there, or set BERTH_PORT to another port.`,
    );
    const absent = createInstallation({ BERTH_DATABASE_URL: "postgres://nobody@127.0.0.1:9/berth", BERTH_MASTER_KEY: "ab".repeat(32) });
    const { code, stderr } = await absent.spawnBerth("serve");
    expect(code).toBe(1);
    expect(stderr).toContain("berth: The database does not answer: connect ECONNREFUSED 127.0.0.1:9");
  });

  test("stops listening and exits if its start fails after it listens", async () => {
    const breakTerminal =
      'Object.defineProperty(process.stdout, "isTTY", { configurable: true, get() { delete this.isTTY; throw new Error("the terminal is gone"); } });';
    const { dataDir, settings, spawnBerth } = createInstallation({
      BERTH_DRIVER: "process",
      BERTH_PORT: "0",
      BERTH_POOL_SIZE: "0",
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(breakTerminal)}`,
    });
    const { code, stderr } = await spawnBerth("serve");
    expect(code).toBe(1);
    expect(stderr).toContain("berth: The start of the server failed, so it has stopped: the terminal is gone\n");
    // It has closed its database and released its data folder.
    expect(readdirSync(dataDir).filter((name) => /-wal$|-shm$/.test(name))).toEqual([]);
    expect((await serveUntilStarted(dataDir, { ...settings, NODE_OPTIONS: "" })).code).toBe(0);
  });
});
