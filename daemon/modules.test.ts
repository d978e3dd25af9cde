import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { daemonRuntime } from "../tests/support/runtime.ts";
import { LOADED_LATER } from "./heap/snapshot-file.ts";
import { startTestDaemon } from "./testing/test-daemon.ts";

// Every module costs memory in every sandbox, and time at its start. Five of these belong to node:child_process, which is loaded a
// moment after the start.
const MODULES_OF_DAEMON = 42;

test("a daemon that has started has loaded no more of Node's modules than it did, and the snapshot has the code of those for HTTP", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-modules-"));
  const file = join(folder, "modules.json");
  const command = [
    "{runtime}/host/node",
    "--expose-gc",
    "--require",
    join(import.meta.dirname, "testing/report-modules.cjs"),
    "{runtime}/daemon.cjs",
  ];
  await using daemon = await startTestDaemon({ BERTH_MODULES_FILE: file }, command);
  await daemon.fetch("/health");
  await daemon.fetch("/internal/activity");
  process.kill(daemon.pid, "SIGUSR2");
  await expect.poll(() => existsSync(file)).toBe(true);
  const loaded = JSON.parse(readFileSync(file, "utf8")) as string[];
  // An empty program of the same Node, which the daemon cannot influence.
  const script = `process.stdout.write(String(process.moduleLoadList.filter((name) => name.startsWith("NativeModule ")).length))`;
  const ofNode = Number(execFileSync(join(await daemonRuntime(), "host/node"), ["--eval", script], { encoding: "utf8" }));
  rmSync(folder, { recursive: true });
  expect(loaded).not.toContain("perf_hooks");
  expect(loaded.filter((name) => /http|freelist/.test(name)).toSorted()).toEqual(LOADED_LATER.toSorted());
  const count = loaded.length - ofNode;
  if (count > MODULES_OF_DAEMON) throw new Error(`${count} modules instead of ${MODULES_OF_DAEMON}; loaded: ${loaded.join(", ")}`);
});
