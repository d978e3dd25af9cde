// Items that wait, of several holders. Holders have their turns round robin, and the items of one holder stay in order.
export interface FairQueue<Holder, Item> {
  add(holder: Holder, item: Item): void;
  // Removes the holder's first item. The holder's next turn comes after those of all others.
  next(holder: Holder): Item | undefined;
  remove(holder: Holder, item: Item): void;
  countOf(holder: Holder): number;
  isEmpty(): boolean;
  // The holders that wait, in the order of their turns.
  holders(): Holder[];
}

export function createFairQueue<Holder, Item>(): FairQueue<Holder, Item> {
  const waiting = new Map<Holder, Item[]>();
  return {
    add(holder, item) {
      const items = waiting.get(holder);
      if (items) items.push(item);
      else waiting.set(holder, [item]);
    },
    next(holder) {
      const items = waiting.get(holder) ?? [];
      const item = items.shift();
      if (items.length > 0 && waiting.size === 1) return item;
      waiting.delete(holder);
      if (items.length > 0) waiting.set(holder, items);
      return item;
    },
    remove(holder, item) {
      const left = (waiting.get(holder) ?? []).filter((other) => other !== item);
      if (left.length === 0) waiting.delete(holder);
      else waiting.set(holder, left);
    },
    countOf: (holder) => waiting.get(holder)?.length ?? 0,
    isEmpty: () => waiting.size === 0,
    holders: () => [...waiting.keys()],
  };
}
