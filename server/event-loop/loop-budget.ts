import { createRecentHolders } from "../fairness/recent-holders.ts";

// Limits the CPU time of the event loop that one holder, such as a partner, may use for long while other holders use it too. A holder
// that is alone is not limited.
export interface LoopBudget {
  // Counts CPU time that the holder has used.
  spend(holder: string, ms: number): void;
  // For how many milliseconds the holder has to wait before it may use more; 0 for none.
  restMs(holder: string): number;
}

// Two busy holders can use the whole loop.
const SHARE = 0.5;
// How much a holder may use at once after a pause.
const BURST_MS = 500;
// Holders without debts are forgotten when there are this many.
const MAX_HOLDERS = 1_000;

export function createLoopBudget(nowMs: () => number): LoopBudget {
  const recent = createRecentHolders();
  // When each holder's time would have passed at its share.
  const paidAtMs = new Map<string, number>();
  const forget = (now: number) => {
    for (const [holder, atMs] of paidAtMs) if (atMs <= now - BURST_MS / SHARE) paidAtMs.delete(holder);
  };
  return {
    spend(holder, ms) {
      const now = nowMs();
      if (paidAtMs.size >= MAX_HOLDERS) forget(now);
      if (!recent.note(holder, now)) return;
      paidAtMs.set(holder, Math.max(paidAtMs.get(holder) ?? 0, now - BURST_MS / SHARE) + ms / SHARE);
    },
    restMs: (holder) => Math.max(0, (paidAtMs.get(holder) ?? 0) - nowMs()),
  };
}
