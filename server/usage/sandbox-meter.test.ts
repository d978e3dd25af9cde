import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { SandboxId } from "@berth/contract";
import type { SandboxStats } from "../drivers/driver.ts";
import { DEFAULT_TEMPLATE } from "../templates.ts";
import { createSandboxMeter } from "./sandbox-meter.ts";

const MB = 1024 * 1024;
const LIMITS = { ...DEFAULT_TEMPLATE, cpus: 2, memoryMb: 512, diskMb: 1024, maxResources: { memoryMb: 2048 } };
const NOTHING: SandboxStats = { cpuMs: null, memoryBytes: null, pids: null, diskBytes: null };

function read(stats: SandboxStats, answer: string, asked: string[] = []) {
  const meter = createSandboxMeter({
    driver: { stats: async () => stats },
    links: {
      request: async (_id, { path }) => {
        asked.push(path);
        return { status: 200, headers: {}, body: Readable.from([Buffer.from(answer)]), trailers: {} };
      },
    },
    templates: new Map([["limited", LIMITS]]),
  });
  return meter.read("sbx_1" as SandboxId, "limited", 1000);
}

test("the daemon is asked only for what the driver does not measure", async () => {
  const measured = { cpuMs: 1, memoryBytes: 2, pids: 3, diskBytes: 4 };
  const asked: string[] = [];
  expect(await read(measured, '{"cpuMs":9,"memoryBytes":9,"diskBytes":9}', asked)).toEqual({ ...measured, reportedCpus: null });
  expect(asked).toEqual([]);
  const answer = '{"cpuMs":9.4,"memoryBytes":9,"diskBytes":9}';
  expect(await read({ ...measured, diskBytes: null }, answer)).toEqual({ ...measured, diskBytes: 9, reportedCpus: null });
  expect(await read(NOTHING, answer)).toEqual({ cpuMs: 9, memoryBytes: 9, pids: null, diskBytes: 9, reportedCpus: 2 });
});

test("a daemon cannot report more than the limits of its sandbox, or what is not a number", async () => {
  expect(await read(NOTHING, '{"cpuMs":1,"memoryBytes":9e15,"diskBytes":9e15}')).toMatchObject({
    memoryBytes: 2048 * MB,
    diskBytes: 1024 * MB,
  });
  for (const value of ["-1", "1e300", '"5"', "null", "{}", "[7]", "true", "NaN"])
    expect([value, await read(NOTHING, `{"cpuMs":${value},"memoryBytes":${value},"diskBytes":${value}}`)]).toEqual([
      value,
      { ...NOTHING, reportedCpus: 2 },
    ]);
  for (const answer of ["", "null", "7", "[]", "nonsense", "x".repeat(100_000)])
    expect(await read(NOTHING, answer)).toMatchObject({ cpuMs: null, memoryBytes: null, diskBytes: null });
});
