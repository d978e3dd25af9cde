import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { daemonRuntime } from "../../tests/support/runtime.ts";
import { startTestDaemon } from "../testing/test-daemon.ts";
import { splitSnapshot } from "./snapshot-file.ts";

const BYTES_OF_MB = 1024 * 1024;

// The memory that is only this process's own.
function privateBytes(pid: number): number {
  const [, kilobytes] = /^Private_Dirty: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))!;
  return Number(kilobytes) * 1024;
}

test("a daemon without work soon shares the heap from which it has started, and works as before", async () => {
  await using daemon = await startTestDaemon();
  const before = privateBytes(daemon.pid);
  await expect.poll(() => readFileSync(`/proc/${daemon.pid}/maps`, "utf8")).toContain("/daemon.heap");
  await expect.poll(() => before - privateBytes(daemon.pid)).toBeGreaterThan(2 * BYTES_OF_MB);
  const { text } = await daemon.fetch("/exec?format=text", { method: "POST", body: { command: "echo works" } });
  expect(text).toBe("works\n");
});

test("daemons that start from the same snapshot give their processes different ids", async () => {
  const start = async () => {
    await using daemon = await startTestDaemon();
    return (await daemon.fetch<{ id: string }>("/processes", { method: "POST", body: { command: "true" } })).json.id;
  };
  const [one, other] = [await start(), await start()];
  expect(one).toMatch(/^proc_/);
  expect(other).not.toBe(one);
});

test("the snapshot of another version of Node, in another format, is refused at the build", async () => {
  const snapshot = readFileSync(`${await daemonRuntime()}/daemon.blob`);
  expect(() => splitSnapshot(snapshot.subarray(0, 100_000), 0)).toThrow("another format");
  expect(() => splitSnapshot(Buffer.from("no snapshot"), 0)).toThrow("another format");
});
