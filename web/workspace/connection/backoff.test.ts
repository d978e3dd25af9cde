import { expect, test } from "vitest";
import { createBackoff } from "./backoff.ts";

test("delays double up to the limit", () => {
  const backoff = createBackoff({ firstMs: 100, maxMs: 1000, random: () => 0 });
  expect([1, 2, 3, 4, 5, 6].map(() => backoff.nextMs())).toEqual([100, 200, 400, 800, 1000, 1000]);
});

test("jitter shortens a delay by at most half", () => {
  const backoff = createBackoff({ firstMs: 100, random: () => 0.999 });
  expect(backoff.nextMs()).toBe(50);
});

test("a reset starts again with the first delay", () => {
  const backoff = createBackoff({ firstMs: 100, random: () => 0 });
  backoff.nextMs();
  backoff.nextMs();
  backoff.reset();
  expect(backoff.nextMs()).toBe(100);
});
