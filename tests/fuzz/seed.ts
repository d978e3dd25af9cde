import { createHash } from "node:crypto";

// The seed of one case. A plan depends only on the run's seed, the target and the number.
export function caseSeed(seed: number, target: string, number: number): number {
  return createHash("sha256").update(`${seed}/${target}/${number}`).digest().readInt32BE(0);
}
