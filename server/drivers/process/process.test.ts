import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "@berth/contract";
import { expect, test } from "vitest";
import { daemonRuntime, runtimeWithForeignSnapshot } from "../../../tests/support/runtime.ts";
import { silentLog } from "../../log.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { driverSuite } from "../testing/driver.suite.ts";
import { createProcessDriver } from "./process.ts";

driverSuite("process", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "berth-process-"));
  const runtimeDir = await daemonRuntime();
  const open = () => createProcessDriver({ dataDir, runtimeDir, log: silentLog });
  return {
    driver: open(),
    reopen: async () => open(),
    remainingResources: async (id) => [join(dataDir, "sandboxes", id), join(dataDir, "egress", id)].filter((path) => existsSync(path)),
    async dispose() {
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
});

test("a daemon whose process id was never stored is found and killed", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "berth-process-"));
  const driver = createProcessDriver({ dataDir, runtimeDir: await daemonRuntime(), log: silentLog });
  const spec = { id: newId("sbx", 1), template: DEFAULT_TEMPLATE, tokenHash: "0".repeat(64) };
  const deadline = () => AbortSignal.timeout(30_000);
  const pidFile = join(dataDir, "sandboxes", spec.id, "daemon.pid");
  await driver.create(spec, deadline());
  const lost = Number(readFileSync(pidFile, "utf8").split("\n")[0]);
  rmSync(pidFile);
  await driver.resume(spec, deadline());
  await expect.poll(() => exists(lost)).toBe(false);
  const found = Number(readFileSync(pidFile, "utf8").split("\n")[0]);
  rmSync(pidFile);
  await driver.destroy(spec.id, deadline());
  await expect.poll(() => exists(found)).toBe(false);
  rmSync(dataDir, { recursive: true, force: true });
});

test("a sandbox whose files are missing is not resumed with empty ones", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "berth-process-"));
  const driver = createProcessDriver({ dataDir, runtimeDir: await daemonRuntime(), log: silentLog });
  const spec = { id: newId("sbx", 1), template: DEFAULT_TEMPLATE, tokenHash: "0".repeat(64) };
  const deadline = () => AbortSignal.timeout(30_000);
  const workspace = join(dataDir, "sandboxes", spec.id, "workspace");
  await driver.create(spec, deadline());
  await driver.hibernate(spec.id, deadline());
  rmSync(workspace, { recursive: true });
  await expect(driver.resume(spec, deadline())).rejects.toMatchObject({ code: "disk_missing" });
  expect(existsSync(workspace)).toBe(false);
  await driver.destroy(spec.id, deadline());
  rmSync(dataDir, { recursive: true, force: true });
});

test("the daemon starts from its snapshot, and without it if another version of Node has made it", async () => {
  const commandLine = async (runtimeDir: string) => {
    const dataDir = mkdtempSync(join(tmpdir(), "berth-process-"));
    const driver = createProcessDriver({ dataDir, runtimeDir, log: silentLog });
    const spec = { id: newId("sbx", 1), template: DEFAULT_TEMPLATE, tokenHash: "0".repeat(64) };
    await driver.create(spec, AbortSignal.timeout(30_000));
    const [pid] = readFileSync(join(dataDir, "sandboxes", spec.id, "daemon.pid"), "utf8").split("\n");
    const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    await driver.destroy(spec.id, AbortSignal.timeout(30_000));
    rmSync(dataDir, { recursive: true, force: true });
    return line;
  };
  expect(await commandLine(await daemonRuntime())).toContain("daemon.blob");
  using foreign = await runtimeWithForeignSnapshot();
  expect(await commandLine(foreign.folder)).not.toContain("daemon.blob");
});

// True for zombies as well.
function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
