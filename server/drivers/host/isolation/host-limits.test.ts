import { expect, test } from "vitest";
import { machine, testWith } from "../../../../tests/support/machine.ts";
import { processLimits, readHostLimits, type HostLimits } from "./host-limits.ts";

const unlimited: HostLimits = {
  openFiles: Infinity,
  pendingSignals: Infinity,
  messageQueueBytes: Infinity,
  oomScore: 0,
  fileMax: Number.MAX_SAFE_INTEGER,
};
const openFiles = (host: Partial<HostLimits>) => processLimits({ pids: 512 }, { ...unlimited, ...host }).openFiles;

test("a process gets the same limits on every machine that is large enough", () => {
  expect(processLimits({ pids: 512 }, unlimited)).toEqual({ openFiles: 16_384, pendingSignals: 16_384, messageQueueBytes: 819_200 });
});

test("all processes of a sandbox together get a quarter of the machine's open files", () => {
  const fileMax = 2_466_058;
  expect(openFiles({ fileMax })).toBe(1204);
  expect(openFiles({ fileMax }) * 512).toBeLessThanOrEqual(fileMax / 4);
});

test("every process gets at least the number of open files that programs expect", () => {
  expect(openFiles({ fileMax: 100_000 })).toBe(1024);
});

test("no limit is higher than that of the server", () => {
  const host = { ...unlimited, openFiles: 4096, pendingSignals: 100, messageQueueBytes: 200 };
  expect(processLimits({ pids: 512 }, host)).toEqual({ openFiles: 4096, pendingSignals: 100, messageQueueBytes: 200 });
});

testWith(machine.linux, "the limits of this machine can be read", () => {
  const { oomScore, ...limits } = readHostLimits();
  for (const limit of Object.values(limits)) expect(limit).toBeGreaterThan(0);
  expect(oomScore).toBeGreaterThanOrEqual(-1000);
});
