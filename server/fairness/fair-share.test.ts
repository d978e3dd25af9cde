import fc from "fast-check";
import { expect, test } from "vitest";
import { createFairShare, type FairShare } from "./fair-share.ts";

function takeAll(share: FairShare<string>, holder: string): Disposable[] {
  const slots: Disposable[] = [];
  for (let slot = share.take(holder); slot; slot = share.take(holder)) slots.push(slot);
  return slots;
}

test("one greedy holder gets half of the slots, and several get equal parts", () => {
  expect(takeAll(createFairShare({ total: 100, maxPerHolder: 100 }), "a")).toHaveLength(50);
  const share = createFairShare<string>({ total: 100, maxPerHolder: 100 });
  const counts = new Map<string, number>();
  for (let round = 0; round < 100; round++)
    for (const holder of ["a", "b", "c"]) if (share.take(holder)) counts.set(holder, (counts.get(holder) ?? 0) + 1);
  expect([...counts.values()]).toEqual([25, 25, 25]);
  expect(takeAll(share, "late")).toHaveLength(13);
});

test("disposing of a slot twice frees it once", () => {
  const share = createFairShare<string>({ total: 4, maxPerHolder: 4 });
  const [first] = takeAll(share, "a");
  expect(share.take("a")).toBeNull();
  first![Symbol.dispose]();
  first![Symbol.dispose]();
  expect(takeAll(share, "a")).toHaveLength(1);
});

test("no holder exceeds its bound, and never more slots are taken than exist", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(5), fc.boolean()), { maxLength: 300 }), (steps) => {
      const share = createFairShare<number>({ total: 20, maxPerHolder: 7 });
      const held = new Map<number, Disposable[]>();
      for (const [holder, takes] of steps) {
        const slots = held.get(holder) ?? [];
        held.set(holder, slots);
        if (!takes) {
          slots.pop()?.[Symbol.dispose]();
          continue;
        }
        const taken = [...held.values()].reduce((sum, own) => sum + own.length, 0);
        const slot = share.take(holder);
        // A holder without a slot gets one as long as any is free.
        if (slots.length === 0) expect(slot === null).toBe(taken === 20);
        if (slot) slots.push(slot);
        expect(slots.length).toBeLessThanOrEqual(7);
        expect(taken + (slot ? 1 : 0)).toBeLessThanOrEqual(20);
      }
    }),
  );
});
