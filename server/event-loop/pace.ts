import { createTokenBucket, fillTimeMs, takeToken } from "../fairness/token-bucket.ts";

// Starts work at a limited rate. A burst that is spread out costs the event loop the same, but leaves time in between for others.
export interface Pace {
  // Calls `work` at once if the rate allows it, otherwise later, in order. The caller limits how many wait.
  start(work: () => void): void;
}

export interface PaceOptions {
  perSecond: number;
  // How many may start at once after a pause.
  burst: number;
  nowMs?: () => number;
  // Schedules work after some milliseconds.
  later?: (work: () => void, ms: number) => void;
}

export function createPace({ perSecond, burst, nowMs = () => performance.now(), later = setTimeout }: PaceOptions): Pace {
  const size = { capacity: burst, fillMs: (burst * 1_000) / perSecond };
  const bucket = createTokenBucket(size, nowMs);
  const waiting: (() => void)[] = [];

  function startWaiting(): void {
    while (waiting.length > 0 && takeToken(bucket())) waiting.shift()!();
    if (waiting.length > 0) later(startWaiting, Math.ceil(fillTimeMs(1 - bucket().tokens, size)));
  }

  return {
    start(work) {
      waiting.push(work);
      // Otherwise the first one has set a timer.
      if (waiting.length === 1) startWaiting();
    },
  };
}
