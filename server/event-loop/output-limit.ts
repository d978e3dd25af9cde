import type { RecentHolders } from "../fairness/recent-holders.ts";
import { createTokenBuckets } from "../fairness/token-bucket.ts";

// Limits how fast the server sends the output of one holder: a sandbox or a partner, all its connections together. Without it,
// a program that prints without end, or a partner that reads large lists, keeps the event loop busy and delays everyone else.
export interface OutputLimit {
  // Counts bytes that are sent. Returns for how many milliseconds the holder has to wait before it sends more; 0 for none.
  count(holder: string, bytes: number): number;
}

export interface OutputLimitOptions {
  mibPerSecond: number;
  // A lower rate while other holders send too. Limits with the same `holders` know of each other's.
  shared?: { mibPerSecond: number; holders: RecentHolders };
  nowMs?: () => number;
}

const MIB = 1024 * 1024;
// How much a holder may send at once after a pause. A token is the output of a millisecond at the limit.
const BURST = { capacity: 125, fillMs: 125 };
// The shortest wait, so that sending does not stop and start for every few bytes.
const REST_MS = 8;

export function createOutputLimit({ mibPerSecond, shared, nowMs = () => performance.now() }: OutputLimitOptions): OutputLimit {
  const bucketOf = createTokenBuckets<string>(nowMs);
  return {
    count(holder, bytes) {
      const bucket = bucketOf(holder, BURST);
      const rate = shared?.holders.note(holder, bucket.filledAtMs) ? shared.mibPerSecond : mibPerSecond;
      bucket.tokens -= (bytes * 1_000) / (rate * MIB);
      return bucket.tokens >= 0 ? 0 : REST_MS - bucket.tokens;
    },
  };
}
