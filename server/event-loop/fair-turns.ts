// Takes turns on the server's one thread. A holder (a partner, say) that asks for many things at once has them started one
// by one, in turn with those of other holders, and the event loop goes round in between: whoever comes next, and whatever
// else the server does, waits for a few milliseconds and not for all of them.
export interface FairTurns {
  // Runs `start` when it is the holder's turn, at once if nothing else was started in this round of the event loop. False,
  // and nothing happens, when the holder has too many waiting.
  enter(holder: string, start: () => void): boolean;
}

export interface FairTurnsOptions {
  maxWaitingPerHolder: number;
  // Runs work in the next round of the event loop, in the order of the calls, with all that follows from one piece of it
  // (microtasks) before the next.
  nextRound?: (work: () => void) => void;
  nowMs?: () => number;
}

// As long as this more is started within one round.
const ROUND_MS = 1;
const STARTS_PER_ROUND = 8;

export function createFairTurns({
  maxWaitingPerHolder,
  nextRound = setImmediate,
  nowMs = () => performance.now(),
}: FairTurnsOptions): FairTurns {
  // In the order of their turns.
  const waiting = new Map<string, (() => void)[]>();
  // When the first start of this round was.
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
