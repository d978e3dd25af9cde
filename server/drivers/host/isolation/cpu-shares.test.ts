import { expect, test } from "vitest";
import { cpuShares, cpuWeight } from "./cpu-shares.ts";

const HOST_SHARES = 1024;

test("a sandbox with one CPU has an eighth of the weight of the server", () => {
  expect(cpuShares(1)).toBe(HOST_SHARES / 8);
});

test("the weight is proportional to the CPUs of the template", () => {
  expect(cpuShares(4)).toBe(4 * cpuShares(1));
  expect(cpuShares(0.5)).toBe(cpuShares(1) / 2);
});

test("the weight of the smallest and of the largest template is in the range that the kernel accepts", () => {
  expect(cpuShares(0.001)).toBe(2);
  expect(cpuShares(10_000)).toBe(262_144);
});

test("the weight in cgroup v2 is in the range that the kernel accepts", () => {
  expect([cpuWeight(0.001), cpuWeight(1), cpuWeight(10_000)]).toEqual([1, 5, 10_000]);
});
