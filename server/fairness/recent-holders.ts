// Knows whether several holders, such as partners or sandboxes, use something at the same time.
export interface RecentHolders {
  // Records that a holder uses it. Returns true if another one has used it a moment ago.
  note(holder: string, nowMs: number): boolean;
  // The same without recording it.
  hasOthers(holder: string | null, nowMs: number): boolean;
}

// People type with pauses.
const RECENT_MS = 10_000;

export function createRecentHolders({ recentMs = RECENT_MS }: { recentMs?: number } = {}): RecentHolders {
  // The latest holder, and the latest of all others.
  let latest = { holder: "", atMs: -Infinity };
  let other = latest;
  const hasOthers = (holder: string | null, nowMs: number) => nowMs - (latest.holder === holder ? other : latest).atMs <= recentMs;
  return {
    note(holder, nowMs) {
      if (latest.holder !== holder) [other, latest] = [latest, { holder, atMs: nowMs }];
      latest.atMs = nowMs;
      return hasOthers(holder, nowMs);
    },
    hasOthers,
  };
}
