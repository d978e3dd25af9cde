import fc from "fast-check";
import { expect, test } from "vitest";
import { createTokenBuckets, fillTimeMs, takeToken } from "./token-bucket.ts";

const SIZE = { capacity: 5, fillMs: 1_000 };

test("a holder never takes more than its capacity and what has flowed in since, and a wait is exactly long enough", () => {
  const steps = fc.array(fc.tuple(fc.constantFrom("a", "b"), fc.nat(700)), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (taken) => {
      let nowMs = 0;
      const bucketOf = createTokenBuckets<string>(() => nowMs);
      const counts = new Map<string, number>();
      for (const [holder, waitMs] of taken) {
        nowMs += waitMs;
        const before = bucketOf(holder, SIZE).tokens;
        if (takeToken(bucketOf(holder, SIZE))) counts.set(holder, (counts.get(holder) ?? 0) + 1);
        else {
          expect(before).toBeLessThan(1);
          nowMs += Math.ceil(fillTimeMs(1 - before, SIZE)) + 1;
          expect(bucketOf(holder, SIZE).tokens).toBeGreaterThanOrEqual(1);
        }
        expect(counts.get(holder) ?? 0).toBeLessThanOrEqual(SIZE.capacity + (nowMs * SIZE.capacity) / SIZE.fillMs);
      }
    }),
  );
});

test("a debt outlives any number of other holders, and a clock that goes back pays nothing", () => {
  let nowMs = 10_000;
  const bucketOf = createTokenBuckets<number>(() => nowMs);
  bucketOf(-1, SIZE).tokens = -20;
  for (let holder = 0; holder < 5_000; holder++) bucketOf(holder, SIZE);
  expect(bucketOf(-1, SIZE).tokens).toBe(-20);
  nowMs -= 5_000;
  expect(bucketOf(-1, SIZE).tokens).toBe(-20);
  nowMs += 2_000;
  expect(bucketOf(-1, SIZE).tokens).toBe(-10);
});
