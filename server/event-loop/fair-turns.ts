import { createLoopBudget } from "./loop-budget.ts";
import { threadCpuMs } from "./thread-cpu.ts";

// Shares the event loop between holders, such as partners. Work that a holder submits in bulk starts piece by piece, round robin
// with the work of other holders, and the event loop completes an iteration in between. Other work therefore waits for a few
// milliseconds, and not for the whole bulk. A holder that uses much time for long rests in between, if there are other holders.
export interface FairTurns {
  // Calls `start` when it is the holder's turn: at once if no other call could start and this iteration of the event loop has time left.
  // Returns false, without calling it, if the holder has too many calls waiting.
  enter(holder: string, start: () => void): boolean;
}

export interface FairTurnsOptions {
  maxWaitingPerHolder: number;
  // Schedules work for the next iteration of the event loop, in order. The microtasks of one call run before the next call.
  nextRound?: (work: () => void) => void;
  // Schedules work after some milliseconds.
  later?: (work: () => void, ms: number) => void;
  nowMs?: () => number;
  // The CPU time of this thread.
  cpuMs?: () => number;
}

// New work starts in an iteration until this much time has passed.
const ROUND_MS = 1;
const STARTS_PER_ROUND = 8;

export function createFairTurns({
  maxWaitingPerHolder,
  nextRound = setImmediate,
  later = setTimeout,
  nowMs = () => performance.now(),
  cpuMs = threadCpuMs,
}: FairTurnsOptions): FairTurns {
  // In round-robin order.
  const waiting = new Map<string, (() => void)[]>();
  // The time of the first start in this iteration.
  let firstStartMs: number | null = null;
  let isEndPlanned = false;
  let isWakePlanned = false;
  const budget = createLoopBudget(nowMs);
  // The latest start. Its cost includes its microtasks, so it is known when something else starts.
  let latest: { holder: string; startCpuMs: number } | null = null;

  function start(holder: string, work: () => void): void {
    latest = { holder, startCpuMs: cpuMs() };
    work();
  }

  function countLatest(): void {
    if (latest) budget.spend(latest.holder, cpuMs() - latest.startCpuMs);
    latest = null;
  }

  function mayStart(): boolean {
    firstStartMs ??= nowMs();
    return nowMs() - firstStartMs < ROUND_MS;
  }

  function startNext(): void {
    countLatest();
    const next = [...waiting].find(([holder]) => budget.restMs(holder) === 0);
    if (!next || !mayStart()) return;
    const [holder, starts] = next;
    const work = starts.shift();
    waiting.delete(holder);
    if (starts.length > 0) waiting.set(holder, starts);
    if (work) start(holder, work);
  }

  const isAnyReady = (): boolean => [...waiting.keys()].some((holder) => budget.restMs(holder) === 0);

  // Continues when the first of the resting holders may start again.
  function planWake(): void {
    if (isWakePlanned) return;
    isWakePlanned = true;
    const wake = () => {
      isWakePlanned = false;
      planEnd();
    };
    later(wake, Math.ceil(Math.min(...[...waiting.keys()].map(budget.restMs))));
  }

  function planEnd(): void {
    if (isEndPlanned) return;
    isEndPlanned = true;
    nextRound(endRound);
  }

  function endRound(): void {
    countLatest();
    isEndPlanned = false;
    firstStartMs = null;
    if (waiting.size === 0) return;
    if (!isAnyReady()) return planWake();
    for (let i = 0; i < STARTS_PER_ROUND; i++) nextRound(startNext);
    planEnd();
  }

  return {
    enter(holder, work) {
      countLatest();
      planEnd();
      if (budget.restMs(holder) === 0 && !isAnyReady() && mayStart()) {
        start(holder, work);
        return true;
      }
      const starts = waiting.get(holder) ?? [];
      if (starts.length >= maxWaitingPerHolder) return false;
      starts.push(work);
      waiting.set(holder, starts);
      return true;
    },
  };
}
