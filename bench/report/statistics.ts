export interface Summary {
  count: number;
  p50: number;
  p95: number;
  p99: number;
}

export function summarize(values: readonly number[]): Summary {
  return { count: values.length, p50: percentile(values, 0.5), p95: percentile(values, 0.95), p99: percentile(values, 0.99) };
}

// The smallest value that at least this share of the values does not exceed. NaN if there are none.
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}

// Without the smallest and the largest values, `share` of all at each end.
export function trim(values: readonly number[], share: number): number[] {
  const cut = Math.floor(values.length * share);
  return values.toSorted((a, b) => a - b).slice(cut, values.length - cut);
}
