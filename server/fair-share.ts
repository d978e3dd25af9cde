// Places of a bounded resource, shared so that no holder can take them all: a holder may have as many as are still free.
// One alone gets half of them, each of n greedy ones an (n+1)th part, and as much is left for the next. (Known from
// network switches as "dynamic thresholds".)
export interface FairShare<Holder> {
  // A place, until it is disposed; null when the holder has its share.
  take(holder: Holder): Disposable | null;
}

export interface FairShareOptions {
  total: number;
  // However much is free.
  maxPerHolder: number;
}

export function createFairShare<Holder>({ total, maxPerHolder }: FairShareOptions): FairShare<Holder> {
  const held = new Map<Holder, number>();
  let free = total;

  function release(holder: Holder): void {
    const left = (held.get(holder) ?? 1) - 1;
    if (left === 0) held.delete(holder);
    else held.set(holder, left);
    free++;
  }

  return {
    take(holder) {
      const own = held.get(holder) ?? 0;
      if (own >= maxPerHolder || own >= free) return null;
      held.set(holder, own + 1);
      free--;
      let released = false;
      return {
        [Symbol.dispose]() {
          if (!released) release(holder);
          released = true;
        },
      };
    },
  };
}
