import { expect, test } from "vitest";
import { createFloodLimit } from "./flood-limit.ts";

test("a sandbox over its limit is refused for a second, and listeners are called once", () => {
  let nowMs = 5_000;
  let calls = 0;
  const limit = createFloodLimit({ maxPerSecond: 3, restMs: 1_000, nowMs: () => nowMs });
  limit.onExceeded(() => void calls++);
  const take = (times: number) => Array.from({ length: times }, () => limit.take());
  expect(take(5)).toEqual([true, true, true, false, false]);
  nowMs += 999;
  expect(take(1)).toEqual([false]);
  expect(calls).toBe(1);
  nowMs += 1;
  expect(take(4)).toEqual([true, true, true, false]);
  expect(calls).toBe(2);
});

test("the count starts again after a second", () => {
  let nowMs = 0;
  const limit = createFloodLimit({ maxPerSecond: 2, restMs: 1_000, nowMs: () => nowMs });
  for (let second = 0; second < 5; second++, nowMs += 1_000) expect([limit.take(), limit.take()]).toEqual([true, true]);
});
