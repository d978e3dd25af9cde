import type { Clock } from "../clock.ts";

// Which work the event loop is doing, so that a stall can be named (loop-watch.ts). Every entry point of the server marks
// what it begins: a route, a relay, a timer. Code that goes on after a wait would count for whatever was marked meanwhile, so
// the store marks the work again that waited for its answer. There is one event loop, so this is state of the module. An
// AsyncLocalStorage would follow every wait, but its cost was seen in bench/get-session.ts; that of these marks was not.
export interface LoopWork {
  // A name from the code, such as a route's pattern; never a value of a caller's.
  readonly name: string;
}

const UNMARKED: LoopWork = { name: "unmarked" };

let current = UNMARKED;
let sinceMs = performance.now();
let longest: LongestWork = { work: UNMARKED, ms: 0 };

export interface LongestWork {
  work: LoopWork;
  ms: number;
}

export const currentWork = (): LoopWork => current;

export function markWork(work: LoopWork): void {
  if (work === current) return;
  const nowMs = performance.now();
  if (nowMs - sinceMs > longest.ms) longest = { work: current, ms: nowMs - sinceMs };
  current = work;
  sinceMs = nowMs;
}

// For what is begun in the middle of other work.
export function runWork<Result>(work: LoopWork, run: () => Result): Result {
  const before = current;
  markWork(work);
  try {
    return run();
  } finally {
    markWork(before);
  }
}

// The longest time since the last call during which no other work was marked.
export function takeLongestWork(): LongestWork {
  const nowMs = performance.now();
  const taken = nowMs - sinceMs > longest.ms ? { work: current, ms: nowMs - sinceMs } : longest;
  [current, sinceMs, longest] = [UNMARKED, nowMs, { work: UNMARKED, ms: 0 }];
  return taken;
}

// A clock whose periodic work carries a name.
export function nameClockWork(clock: Clock, work: LoopWork): Clock {
  return { now: () => clock.now(), every: (periodMs, run) => clock.every(periodMs, () => runWork(work, run)) };
}
