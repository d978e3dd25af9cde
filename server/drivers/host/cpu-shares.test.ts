import { expect, test } from "vitest";
import { cpuShares } from "./cpu-shares.ts";

const HOST_SHARES = 1024;

test("a sandbox of the usual size weighs an eighth of the server", () => {
  expect(cpuShares(1)).toBe(HOST_SHARES / 8);
});

test("sandboxes share the processors by the size of their templates", () => {
  expect(cpuShares(4)).toBe(4 * cpuShares(1));
  expect(cpuShares(0.5)).toBe(cpuShares(1) / 2);
});

test("the kernel accepts the shares of the smallest and of the largest template", () => {
  expect(cpuShares(0.001)).toBe(2);
  expect(cpuShares(10_000)).toBe(262_144);
});
