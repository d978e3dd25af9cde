import { expect, test } from "vitest";
import { percentile, summarize, trim } from "./statistics.ts";

const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);

test("a percentile is one of the values, whatever their order", () => {
  expect(summarize(hundred)).toEqual({ count: 100, p50: 50, p95: 95, p99: 99 });
  expect(percentile([3, 1, 2], 0.5)).toBe(2);
  expect(percentile([7], 0.99)).toBe(7);
  expect(percentile([1, 2], 0)).toBe(1);
  expect(percentile([1, 2], 1)).toBe(2);
});

test("the percentiles of no values are not numbers", () => {
  expect(summarize([])).toEqual({ count: 0, p50: NaN, p95: NaN, p99: NaN });
});

test("trimming removes the same number of values at both ends and leaves the input as it is", () => {
  expect(trim([5, 1, 4, 2, 3], 0.2)).toEqual([2, 3, 4]);
  expect(trim(hundred, 0.05)).toEqual(Array.from({ length: 90 }, (_, i) => i + 6));
  expect(trim([2, 1], 0.05)).toEqual([1, 2]);
  expect(hundred[0]).toBe(100);
});
