import { addCount, type HolderCounts } from "./holder-counts.ts";

// Slots of a bounded resource, shared so that no holder can take all of them. A holder may have as many slots as are still
// free: a single holder gets half of them, each of n greedy holders one of n + 1 equal parts, and one part stays free for the
// next. Network switches call this "dynamic thresholds".
export interface FairShare<Holder> {
  // Returns a slot, to be disposed of after use, or null if the holder already has its share.
  take(holder: Holder): Disposable | null;
}

export interface FairShareOptions {
  // Absent: there are any number of slots, and only the bound of each holder counts.
  total?: number;
  // An upper bound, however many slots are free.
  maxPerHolder: number;
}

export function createFairShare<Holder>({ total = Infinity, maxPerHolder }: FairShareOptions): FairShare<Holder> {
  const held: HolderCounts<Holder> = new Map();
  let free = total;

  return {
    take(holder) {
      const own = held.get(holder) ?? 0;
      if (own >= maxPerHolder || own >= free) return null;
      addCount(held, holder, 1);
      free--;
      let released = false;
      return {
        [Symbol.dispose]() {
          if (released) return;
          released = true;
          addCount(held, holder, -1);
          free++;
        },
      };
    },
  };
}
