// How many of something each holder has. Holders without any take no memory.
export type HolderCounts<Holder> = Map<Holder, number>;

export function addCount<Holder>(counts: HolderCounts<Holder>, holder: Holder, change: number): void {
  const count = (counts.get(holder) ?? 0) + change;
  if (count === 0) counts.delete(holder);
  else counts.set(holder, count);
}
