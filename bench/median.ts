// The median time of `count` runs, one after the other, in milliseconds.
export async function median(count: number, work: () => Promise<void>): Promise<number> {
  return percentile(await times(count, work), 0.5);
}

export async function times(count: number, work: () => Promise<void>): Promise<number[]> {
  const taken: number[] = [];
  for (let i = 0; i < count; i++) {
    const startedMs = performance.now();
    await work();
    taken.push(performance.now() - startedMs);
  }
  return taken;
}

export function percentile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}
