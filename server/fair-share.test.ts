import fc from "fast-check";
import { expect, test } from "vitest";
import { createFairShare, type FairShare } from "./fair-share.ts";

function takeAll(share: FairShare<string>, holder: string): Disposable[] {
  const places: Disposable[] = [];
  for (let place = share.take(holder); place; place = share.take(holder)) places.push(place);
  return places;
}

test("one greedy holder gets half, and each of several the same part", () => {
  expect(takeAll(createFairShare({ total: 100, maxPerHolder: 100 }), "a")).toHaveLength(50);
  const share = createFairShare<string>({ total: 100, maxPerHolder: 100 });
  const counts = new Map<string, number>();
  for (let round = 0; round < 100; round++)
    for (const holder of ["a", "b", "c"]) if (share.take(holder)) counts.set(holder, (counts.get(holder) ?? 0) + 1);
  expect([...counts.values()]).toEqual([25, 25, 25]);
  expect(takeAll(share, "late")).toHaveLength(13);
});

test("a place that is given back is free again, once", () => {
  const share = createFairShare<string>({ total: 4, maxPerHolder: 4 });
  const [first] = takeAll(share, "a");
  expect(share.take("a")).toBeNull();
  first![Symbol.dispose]();
  first![Symbol.dispose]();
  expect(takeAll(share, "a")).toHaveLength(1);
});

test("nobody has more than the bound for one, and never are more taken than there are", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(5), fc.boolean()), { maxLength: 300 }), (steps) => {
      const share = createFairShare<number>({ total: 20, maxPerHolder: 7 });
      const held = new Map<number, Disposable[]>();
      for (const [holder, takes] of steps) {
        const places = held.get(holder) ?? [];
        held.set(holder, places);
        if (!takes) {
          places.pop()?.[Symbol.dispose]();
          continue;
        }
        const taken = [...held.values()].reduce((sum, own) => sum + own.length, 0);
        const place = share.take(holder);
        // Whoever has nothing gets something, as long as there is anything.
        if (places.length === 0) expect(place === null).toBe(taken === 20);
        if (place) places.push(place);
        expect(places.length).toBeLessThanOrEqual(7);
        expect(taken + (place ? 1 : 0)).toBeLessThanOrEqual(20);
      }
    }),
  );
});
