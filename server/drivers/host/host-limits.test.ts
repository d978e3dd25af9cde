import { expect, test } from "vitest";
import { machine, testWith } from "../../../tests/support/machine.ts";
import { processLimits, readHostLimits, type HostLimits } from "./host-limits.ts";

const roomy: HostLimits = {
  openFiles: Infinity,
  pendingSignals: Infinity,
  messageQueueBytes: Infinity,
  oomScore: 0,
  fileMax: Number.MAX_SAFE_INTEGER,
};
const openFiles = (host: Partial<HostLimits>) => processLimits({ pids: 512 }, { ...roomy, ...host }).openFiles;

test("a process gets the same limits on every machine that is roomy enough", () => {
  expect(processLimits({ pids: 512 }, roomy)).toEqual({ openFiles: 16_384, pendingSignals: 16_384, messageQueueBytes: 819_200 });
});

test("all processes of a sandbox together get a quarter of the machine's files", () => {
  const fileMax = 2_466_058;
  expect(openFiles({ fileMax })).toBe(1204);
  expect(openFiles({ fileMax }) * 512).toBeLessThanOrEqual(fileMax / 4);
});

test("no process gets fewer files than programs are used to", () => {
  expect(openFiles({ fileMax: 100_000 })).toBe(1024);
});

test("no limit is higher than the server's own", () => {
  const host = { ...roomy, openFiles: 4096, pendingSignals: 100, messageQueueBytes: 200 };
  expect(processLimits({ pids: 512 }, host)).toEqual({ openFiles: 4096, pendingSignals: 100, messageQueueBytes: 200 });
});

testWith(machine.linux, "the limits of this machine can be read", () => {
  const { oomScore, ...limits } = readHostLimits();
  for (const limit of Object.values(limits)) expect(limit).toBeGreaterThan(0);
  expect(oomScore).toBeGreaterThanOrEqual(-1000);
});
