// Timers with short periods, for `systemClock`. Each fires at the multiples of its period since the start of the process, so that several of
// them fire together. Waking an idle process costs more than the work of most timers.

interface FrequentTimer {
  periodMs: number;
  dueMs: number;
  run: () => void;
}

// A timer of Node can fire this much too early.
const EARLY_MS = 2;

const timers = new Set<FrequentTimer>();
let next: NodeJS.Timeout | undefined;

// The first call comes after half of the period at the earliest. Does not keep the process alive.
export function startFrequentTimer(periodMs: number, run: () => void): Disposable {
  const timer = { periodMs, run, dueMs: multipleAfter(performance.now() + periodMs / 2, periodMs) };
  timers.add(timer);
  schedule();
  return {
    [Symbol.dispose]() {
      timers.delete(timer);
      schedule();
    },
  };
}

function schedule(): void {
  let dueMs = Infinity;
  for (const timer of timers) dueMs = Math.min(dueMs, timer.dueMs);
  clearTimeout(next);
  // After a stall, timers are overdue. Node warns of a negative time.
  if (timers.size > 0) next = setTimeout(fire, Math.max(1, Math.ceil(dueMs - performance.now()))).unref();
}

function fire(): void {
  const nowMs = performance.now() + EARLY_MS;
  const due: FrequentTimer[] = [];
  for (const timer of timers) {
    if (timer.dueMs > nowMs) continue;
    timer.dueMs = multipleAfter(nowMs, timer.periodMs);
    due.push(timer);
  }
  schedule();
  for (const timer of due) if (timers.has(timer)) timer.run();
}

const multipleAfter = (ms: number, periodMs: number): number => (Math.floor(ms / periodMs) + 1) * periodMs;
