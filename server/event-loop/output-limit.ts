// Limits how fast the server sends the output of one holder: a sandbox or a partner, all its connections together. Without it,
// a program that prints without end, or a partner that reads large lists, keeps the event loop busy and delays everyone else.
export interface OutputLimit {
  // Counts bytes that are sent. Returns for how many milliseconds the holder has to wait before it sends more; 0 for none.
  count(holder: string, bytes: number): number;
}

export interface OutputLimitOptions {
  mibPerSecond: number;
  // A lower rate while other holders send too. Limits with the same `senders` know of each other's holders.
  shared?: { mibPerSecond: number; senders: RecentSenders };
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
    const isShared = shared?.senders.note(holder, now) ?? false;
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

// Knows whether several holders send at the same time.
export interface RecentSenders {
  // Records that a holder sends. Returns true if another one has sent a moment ago.
  note(holder: string, nowMs: number): boolean;
}

// People type with pauses.
const RECENT_MS = 10_000;

export function createRecentSenders(): RecentSenders {
  // The latest sender, and the latest of all others.
  let latest = { holder: "", atMs: -Infinity };
  let other = latest;
  return {
    note(holder, nowMs) {
      if (latest.holder !== holder) [other, latest] = [latest, { holder, atMs: nowMs }];
      latest.atMs = nowMs;
      return nowMs - other.atMs <= RECENT_MS;
    },
  };
}
