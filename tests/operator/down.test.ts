import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { spawn as spawnOnTerminal } from "@lydell/node-pty";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findLockHolder } from "../../server/data-folder/data-folder-lock.ts";
import { readCgroupLayout } from "../../server/drivers/oci/cgroups/cgroup-layouts.ts";
import { cgroupPrefix, openCgroups } from "../../server/drivers/oci/cgroups/cgroups.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { cliEnv, cliPath, runCli, runCliHere, type CliPlace } from "../support/servers/cli.ts";
import { describeWith, machine, testWith } from "../support/machine.ts";
import { daemonRuntime } from "../support/runtime.ts";

const ociMissing = await machine.oci();

describeWith(ociMissing, "berth down", () => {
  test("--delete after kill -9 leaves no mount, loop device, control group, process or file of the installation", async () => {
    await daemonRuntime();
    await using berth = await startBerth({ BERTH_HIBERNATE_AFTER: "0" });
    const place = realpathSync(berth.dataDir);
    const hibernated = await berth.api.create({ autoStartAgent: false });
    await step(berth, hibernated.sessionId, "pause");
    await waitForRow(berth, "select count(*) as n from sessions where state = 'paused' and hibernated = 1", 1);
    await berth.stop();

    const failpoint = join(berth.dataDir, "failpoint");
    writeFileSync(failpoint, "");
    await berth.start({ BERTH_POOL_SIZE: "2", BERTH_HIBERNATE_AFTER: "1h", BERTH_TEST_FAILPOINT: failpoint });
    const create = () => berth.api.create({ autoStartAgent: false, envVars: { NAME: "value" } });
    const running = await create();
    await berth.api.exec(running.sandboxId, "(sleep 1000 > /dev/null 2>&1 &)");
    expect((await berth.api.call("POST", "/api/b2b/volumes", { name: "cache", sizeMb: 32 })).status).toBe(201);
    const volumes = [{ name: "cache", path: "/home/user/cache", mode: "rw" }];
    const paused = await berth.api.create({ autoStartAgent: false, volumes });
    await step(berth, paused.sessionId, "pause");
    const orphan = await create();

    // The server dies during a create, when the sandbox exists and the row is still in a step. A create with variables always has
    // such a step, also with a sandbox from the pool.
    await waitForRow(berth, "select count(*) as n from sessions where state = 'warm'", 2);
    writeFileSync(failpoint, "create.started");
    await expect(create()).rejects.toThrow("fetch failed");
    await berth.died();
    rmSync(failpoint);
    change(berth, "delete from sessions where id = ?", orphan.sessionId);
    // The interrupted create, a warm sandbox and, if the pool was faster than the crash, the next one.
    const discarded = count(berth, "select count(*) as n from sessions where state in ('creating', 'warm', 'warming')");
    expect(discarded).toBeGreaterThanOrEqual(2);

    // The check finds every kind of remains.
    const before = findRemains(place).map((line) => line.split(" ")[0]!);
    expect([...new Set(before)].toSorted()).toEqual(["file", "group", "loop", "mount", "process"]);

    const { code, report } = await down(berth, "--delete");
    expect(report).toMatchObject({
      server: null,
      drivers: ["oci"],
      ended: { paused: 0, destroyed: 3, discarded, orphans: 1, failures: [] },
      files: { kept: [] },
    });
    expect(code).toBe(0);
    await expectRemains(place, []);

    const again = await runCliHere(berth, "down", "--delete");
    expect(again.code).toBe(0);
    expect(again.stdout).toContain(`No installation of Berth was found in ${berth.dataDir}`);
    expect(existsSync(berth.dataDir)).toBe(false);
  }, 240_000);

  test("stops the server and every sandbox, and the next start finds the files", async () => {
    await daemonRuntime();
    await using berth = await startBerth({ BERTH_POOL_SIZE: "1" });
    const place = realpathSync(berth.dataDir);
    const running = await berth.api.create({ autoStartAgent: false });
    await berth.api.writeFile(running.sandboxId, "kept.txt", "of a running one");
    const paused = await berth.api.create({ autoStartAgent: false });
    await berth.api.writeFile(paused.sandboxId, "kept.txt", "of a paused one");
    await step(berth, paused.sessionId, "pause");
    writeFileSync(join(berth.dataDir, "notes.txt"), "an operator's own file");

    // Without a terminal and without --yes nothing happens.
    const refused = await runCliHere(berth, "down");
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("Add --yes");
    expect((await fetch(`${berth.url}/readyz`)).status).toBe(200);

    const { code, report } = await down(berth);
    expect(code).toBe(0);
    expect(report).toMatchObject({ server: expect.any(Number), ended: { paused: 2, destroyed: 0, orphans: 0, failures: [] }, files: null });
    await berth.died();
    await expect.poll(() => findRemains(place).filter((line) => !line.startsWith("file"))).toEqual([]);
    const again = await runCliHere(berth, "down");
    expect(again.code).toBe(0);
    expect(again.stdout).toMatch(/^There was nothing to stop\.\n2 sessions can be resumed after the next start/);

    await berth.start();
    for (const [session, content] of [
      [running, "of a running one"],
      [paused, "of a paused one"],
    ] as const) {
      expect((await berth.api.call("GET", `/api/b2b/sessions/${session.sessionId}`)).body).toMatchObject({ status: "paused" });
      expect(await step(berth, session.sessionId, "resume")).toBe(200);
      expect(String(await berth.api.readFile(session.sandboxId, "kept.txt"))).toBe(content);
    }

    const deleted = await down(berth, "--delete");
    expect(deleted).toMatchObject({ code: 0, report: { server: expect.any(Number), files: { kept: ["notes.txt"] } } });
    await expectRemains(place, [`file ${place}`, `file ${place}/notes.txt`]);
  }, 240_000);

  test("--delete cleans up after a data folder that was deleted while sandboxes ran", async () => {
    await daemonRuntime();
    await using berth = await startBerth();
    const place = realpathSync(berth.dataDir);
    await berth.api.create({ autoStartAgent: false });
    await berth.kill();
    await new Promise((resolve) => execFile("rm", ["-rf", "--one-file-system", place], resolve));
    expect(findRemains(place)).not.toEqual([]);

    expect(await down(berth, "--delete")).toMatchObject({ code: 0, report: { ended: { orphans: 1, failures: [] } } });
    await expectRemains(place, []);
  }, 240_000);
});

describe("berth down of a server that runs", () => {
  let berth: Berth;
  const resources = new AsyncDisposableStack();
  beforeAll(async () => {
    await daemonRuntime();
    berth = await startBerth({ BERTH_DRIVER: "process" });
  });
  afterAll(async () => {
    await berth?.[Symbol.asyncDispose]();
    await resources.disposeAsync();
  });
  const isReady = async () => (await fetch(`${berth.url}/readyz`)).status === 200;

  test("refuses settings that differ from the server's", async () => {
    const { code, stderr } = await runCliHere({ ...berth, env: { ...berth.env, BERTH_DRIVER: "oci" } }, "down", "--yes");
    expect(code).toBe(1);
    expect(stderr).toMatch(/The server \(process \d+\) has a different BERTH_DRIVER than this command/);
    expect(await isReady()).toBe(true);
  });

  testWith(ociMissing, "refuses to stop a server that systemd would start again, and names the unit", async () => {
    const unit = `berth-test-${process.pid}.service`;
    const [ofUnit, ofNoUnit] = [unit, `berth-test-${process.pid}`].map((name) => join(readCgroupLayout().hierarchies.at(-1)!, name));
    const pid = (await findLockHolder(berth.dataDir)) as number;
    const moveTo = (group: string) => {
      mkdirSync(group);
      writeFileSync(join(group, "cgroup.procs"), String(pid));
    };
    try {
      moveTo(ofUnit!);
      const { code, stderr } = await runCliHere(berth, "down", "--yes");
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `berth: The server runs as the unit ${unit}, which would restart it. Stop it first: systemctl stop ${unit}\n`,
      });
      expect(await isReady()).toBe(true);
    } finally {
      moveTo(ofNoUnit!);
      rmdirSync(ofUnit!);
      // The group cannot be removed while the server runs in it.
      resources.defer(() => rmdirSync(ofNoUnit!));
    }
  });

  test("asks for confirmation at a terminal, and a no changes nothing", async () => {
    const session = await berth.api.create({ autoStartAgent: false });
    const asked = await answer(berth, "n\r", "--delete");
    expect(asked.output).toContain("the server (process");
    expect(asked.output).toContain("1 session and its files are deleted permanently");
    expect(asked.output).toContain("Nothing was changed.");
    expect(asked.code).toBe(1);
    expect((await berth.api.exec(session.sandboxId, "echo alive")).stdout).toBe("alive\n");

    const agreed = await answer(berth, "y\r", "--delete");
    expect(agreed.output).toContain("Destroyed 1 session and its files.");
    expect(agreed.code).toBe(0);
    await berth.died();
    expect(existsSync(berth.dataDir)).toBe(false);
  });
});

test("berth down says where it looked if there is no installation, and creates nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-empty-"));
  const env = { BERTH_DATA_DIR: join(folder, "data"), BERTH_DRIVER: "process" };
  for (const args of [["down"], ["down", "--delete"]]) {
    const { code, stdout } = await runCliHere({ env, dataDir: folder }, ...args);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `There was nothing to stop.\nNo installation of Berth was found in ${env.BERTH_DATA_DIR}. Set BERTH_DATA_DIR to its data folder.\n`,
    });
  }
  expect(readdirSync(folder)).toEqual([]);
  rmSync(folder, { recursive: true });
});

interface Down {
  code: number;
  report: { server: number | null; ended: Record<string, unknown>; files: object | null };
}

async function down(place: CliPlace, ...args: string[]): Promise<Down> {
  const { code, stdout, stderr } = await runCli(place, "down", "--yes", "--json", ...args);
  if (stdout === "") throw new Error(stderr);
  return { code, report: JSON.parse(stdout) as Down["report"] };
}

async function answer(place: CliPlace, keys: string, ...args: string[]): Promise<{ code: number; output: string }> {
  const terminal = spawnOnTerminal(process.execPath, [cliPath, "down", ...args], { env: cliEnv(place), cols: 200 });
  let output = "";
  terminal.onData((text) => {
    if (!output.includes("[y/N]") && `${output}${text}`.includes("[y/N]")) terminal.write(keys);
    output += text;
  });
  const code = await new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)));
  return { code, output };
}

const step = async ({ api }: Berth, id: string, action: "pause" | "resume") =>
  (await api.call("POST", `/api/b2b/sessions/${id}/${action}`, action === "resume" ? { autoStartAgent: false } : undefined)).status;

async function waitForRow(berth: Berth, query: string, wanted: number): Promise<void> {
  await expect.poll(() => count(berth, query), { timeout: 60_000 }).toBe(wanted);
}

function count({ dataDir }: Berth, query: string): number {
  const database = new DatabaseSync(join(dataDir, "berth.db"), { readOnly: true });
  try {
    return (database.prepare(query).get() as { n: number }).n;
  } finally {
    database.close();
  }
}

function change({ dataDir }: Berth, statement: string, id: string): void {
  const database = new DatabaseSync(join(dataDir, "berth.db"));
  database.prepare(statement).run(id);
  database.close();
}

// The process that runs programs for `berth down` ends a moment after it.
async function expectRemains(place: string, remains: string[]): Promise<void> {
  await expect.poll(() => findRemains(place), { timeout: 5_000 }).toEqual(remains);
}

// Everything of an installation on this machine. The first word is the kind.
function findRemains(place: string): string[] {
  const prefix = cgroupPrefix(place);
  const isOurs = (text: string) => text.includes(place) || text.includes(prefix);
  const processes = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && !/^State:\s+[ZX]/m.test(read(`/proc/${name}/status`)))
    .filter((pid) => isOurs(`${read(`/proc/${pid}/cgroup`)} ${read(`/proc/${pid}/cmdline`)} ${read(`/proc/${pid}/environ`)}`));
  const loops = readdirSync("/sys/block").filter((name) => isOurs(read(`/sys/block/${name}/loop/backing_file`)));
  const mounts = read("/proc/self/mountinfo").split("\n").filter(isOurs);
  const files = existsSync(place) ? [place, ...readdirSync(place, { recursive: true }).map((name) => join(place, String(name)))] : [];
  return [
    ...processes.map((pid) => `process ${pid} ${read(`/proc/${pid}/cmdline`)}`),
    ...loops.map((name) => `loop ${name}`),
    ...mounts.map((line) => `mount ${line}`),
    ...openCgroups(prefix)
      .list()
      .map((id) => `group ${id}`),
    ...files.map((path) => `file ${path}`),
  ];
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
