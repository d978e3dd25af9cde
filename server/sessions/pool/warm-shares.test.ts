import { expect, test } from "vitest";
import { MINUTE } from "../../clock.ts";
import { createTestClock } from "../../testing/test-clock.ts";
import { createWarmShares } from "./warm-shares.ts";

function openShares() {
  const clock = createTestClock();
  const shares = createWarmShares({ clock });
  // Looks for warm sandboxes one after the other; the result is how many each look has to leave to other partners.
  const look = (partnerId: string, count: number, target = 4) =>
    Array.from({ length: count }, () => {
      shares.take("default", partnerId);
      return shares.keptFrom("default", partnerId, target);
    });
  return { clock, shares, look };
}

test("a partner that is alone may take all warm sandboxes", () => {
  const { look } = openShares();
  expect(look("acme", 6)).toEqual([0, 0, 0, 0, 0, 0]);
});

test("a partner that holds its share leaves the others theirs", () => {
  const { look } = openShares();
  look("neighbour", 1);
  expect(look("flood", 5)).toEqual([0, 0, 1, 1, 1]);
  expect(look("neighbour", 2)).toEqual([0, 0]);
  expect(look("flood", 1)).toEqual([0]);
});

test("with more partners than warm sandboxes, each may take one", () => {
  const { shares, look } = openShares();
  for (const partnerId of ["a", "b", "c"]) {
    look(partnerId, 1);
    shares.release("default", partnerId);
  }
  expect(look("flood", 2, 2)).toEqual([0, 3]);
  expect(look("a", 2, 2)).toEqual([0, 2]);
});

test("a sandbox that the pool has replaced counts for the partner that holds the fewest", () => {
  const { shares, look } = openShares();
  look("neighbour", 1);
  look("flood", 9);
  shares.replaced("default");
  expect(look("flood", 1)).toEqual([2]);
  shares.full("default");
  expect(look("flood", 3)).toEqual([0, 0, 2]);
});

test("a partner that has created no session for ten minutes is kept nothing", async () => {
  const { clock, look } = openShares();
  look("neighbour", 1);
  await clock.advance(10 * MINUTE);
  expect(look("flood", 5)).toEqual([0, 0, 0, 0, 0]);
});
