import type { RecentHolders } from "../fairness/recent-holders.ts";

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
// How much a holder may send at once after a pause, as the time that it takes at the limit.
const BURST_MS = 125;
// The shortest wait, so that sending does not stop and start for every few bytes.
const REST_MS = 8;
// Holders that have been silent are forgotten when there are this many.
const MAX_HOLDERS = 1_000;

export function createOutputLimit({ mibPerSecond, shared, nowMs = () => performance.now() }: OutputLimitOptions): OutputLimit {
  // When each holder's output would have been sent at the limit.
  const sentAtMs = new Map<string, number>();

  function bytesPerMs(holder: string, now: number): number {
    const isShared = shared?.holders.note(holder, now) ?? false;
    return ((isShared && shared ? shared.mibPerSecond : mibPerSecond) * MIB) / 1_000;
  }

  return {
    count(holder, bytes) {
      const now = nowMs();
      if (sentAtMs.size >= MAX_HOLDERS) for (const [other, atMs] of sentAtMs) if (atMs <= now - BURST_MS) sentAtMs.delete(other);
      const atMs = Math.max(sentAtMs.get(holder) ?? 0, now - BURST_MS) + bytes / bytesPerMs(holder, now);
      sentAtMs.set(holder, atMs);
      return atMs <= now ? 0 : atMs - now + REST_MS;
    },
  };
}
