import { expect, test } from "vitest";
import { openFilesOf, readHostLimits } from "./host-limits.ts";

const roomy = { openFiles: Infinity, oomScore: 0, fileMax: Number.MAX_SAFE_INTEGER };

test("a process may have 16,384 files open where the machine does not mind", () => {
  expect(openFilesOf({ pids: 512 }, roomy)).toBe(16_384);
});

test("all processes of a sandbox together get a quarter of the machine's files", () => {
  const fileMax = 2_466_058;
  const each = openFilesOf({ pids: 512 }, { ...roomy, fileMax });
  expect(each).toBe(1204);
  expect(each * 512).toBeLessThanOrEqual(fileMax / 4);
});

test("no process gets fewer than programs are used to, nor more than the server has", () => {
  expect(openFilesOf({ pids: 512 }, { ...roomy, fileMax: 100_000 })).toBe(1024);
  expect(openFilesOf({ pids: 512 }, { ...roomy, openFiles: 4096 })).toBe(4096);
});

test.skipIf(process.platform !== "linux")("the limits of this machine can be read (Linux only)", () => {
  const { openFiles, oomScore, fileMax } = readHostLimits();
  expect(openFiles).toBeGreaterThan(0);
  expect(oomScore).toBeGreaterThanOrEqual(-1000);
  expect(fileMax).toBeGreaterThan(0);
});
