// Shares the event loop between holders, such as partners. Work that a holder submits in bulk starts piece by piece, round robin
// with the work of other holders, and the event loop completes an iteration in between. Other work therefore waits for a few
// milliseconds, and not for the whole bulk.
export interface FairTurns {
  // Calls `start` when it is the holder's turn: at once if nothing waits and this iteration of the event loop has time left.
  // Returns false, without calling it, if the holder has too many calls waiting.
  enter(holder: string, start: () => void): boolean;
}

export interface FairTurnsOptions {
  maxWaitingPerHolder: number;
  // Schedules work for the next iteration of the event loop, in order. The microtasks of one call run before the next call.
  nextRound?: (work: () => void) => void;
  nowMs?: () => number;
}

// New work starts in an iteration until this much time has passed.
const ROUND_MS = 1;
const STARTS_PER_ROUND = 8;

export function createFairTurns({
  maxWaitingPerHolder,
  nextRound = setImmediate,
  nowMs = () => performance.now(),
}: FairTurnsOptions): FairTurns {
  // In round-robin order.
  const waiting = new Map<string, (() => void)[]>();
  // The time of the first start in this iteration.
  let firstStartMs: number | null = null;
  let isEndPlanned = false;

  function mayStart(): boolean {
    firstStartMs ??= nowMs();
    return nowMs() - firstStartMs < ROUND_MS;
  }

  function startNext(): void {
    const [next] = waiting;
    if (!next || !mayStart()) return;
    const [holder, starts] = next;
    const start = starts.shift();
    waiting.delete(holder);
    if (starts.length > 0) waiting.set(holder, starts);
    start?.();
  }

  function planEnd(): void {
    if (isEndPlanned) return;
    isEndPlanned = true;
    nextRound(endRound);
  }

  function endRound(): void {
    isEndPlanned = false;
    firstStartMs = null;
    if (waiting.size === 0) return;
    for (let i = 0; i < STARTS_PER_ROUND; i++) nextRound(startNext);
    planEnd();
  }

  return {
    enter(holder, start) {
      planEnd();
      if (waiting.size === 0 && mayStart()) {
        start();
        return true;
      }
      const starts = waiting.get(holder) ?? [];
      if (starts.length >= maxWaitingPerHolder) return false;
      starts.push(start);
      waiting.set(holder, starts);
      return true;
    },
  };
}
