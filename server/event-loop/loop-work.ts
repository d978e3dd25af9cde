import type { Clock } from "../clock.ts";

// Names the work that the event loop does, so that loop-watch.ts can name the cause of a stall. Every entry point of the server
// (route, relay, timer) marks its work. Code that continues after an `await` would count for the work that was marked in the
// meantime, so the store marks the waiting work again before it returns a result.
//
// The state is global, because there is one event loop. AsyncLocalStorage would follow every `await`, but has a measurable cost
// when a session is read (`npm run bench -- api`); these marks have not.
export interface LoopWork {
  // Fixed in the code, such as a route's pattern. Never a value from a caller.
  readonly name: string;
}

const UNMARKED: LoopWork = { name: "unmarked" };

let current = UNMARKED;
let sinceMs = performance.now();
let longest: LongestWork = { work: UNMARKED, ms: 0 };
let atNextMark: (() => void) | undefined;

export interface LongestWork {
  work: LoopWork;
  ms: number;
}

export const currentWork = (): LoopWork => current;

export function markWork(work: LoopWork): void {
  if (work === current) return;
  if (atNextMark) callAtNextMark();
  const nowMs = performance.now();
  if (nowMs - sinceMs > longest.ms) longest = { work: current, ms: nowMs - sinceMs };
  current = work;
  sinceMs = nowMs;
}

// Calls back once, before the next mark. Replaces an earlier callback.
export function onNextMark(callback: (() => void) | undefined): void {
  atNextMark = callback;
}

function callAtNextMark(): void {
  const callback = atNextMark;
  atNextMark = undefined;
  callback?.();
}

// Marks work for the duration of `run`, then restores the mark of the work around it.
export function runWork<Result>(work: LoopWork, run: () => Result): Result {
  const before = current;
  markWork(work);
  try {
    return run();
  } finally {
    markWork(before);
  }
}

// Returns the work that held the loop longest since the last call, and resets the marks.
export function takeLongestWork(): LongestWork {
  const nowMs = performance.now();
  const taken = nowMs - sinceMs > longest.ms ? { work: current, ms: nowMs - sinceMs } : longest;
  [current, sinceMs, longest] = [UNMARKED, nowMs, { work: UNMARKED, ms: 0 }];
  return taken;
}

// A clock that marks its periodic work.
export function nameClockWork(clock: Clock, work: LoopWork): Clock {
  return { now: () => clock.now(), every: (periodMs, run) => clock.every(periodMs, () => runWork(work, run)) };
}
