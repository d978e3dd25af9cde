import { createFairQueue } from "../fairness/fair-queue.ts";
import { createRecentHolders } from "../fairness/recent-holders.ts";
import { createTokenBuckets, fillTimeMs } from "../fairness/token-bucket.ts";
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
// The milliseconds of CPU time that a holder may use while there are others: half of the loop, so that two busy holders use all of it, and
// this much at once after a pause.
const SHARE = { capacity: 500, fillMs: 1_000 };

export function createFairTurns({
  maxWaitingPerHolder,
  nextRound = setImmediate,
  later = setTimeout,
  nowMs = () => performance.now(),
  cpuMs = threadCpuMs,
}: FairTurnsOptions): FairTurns {
  const waiting = createFairQueue<string, () => void>();
  // The time of the first start in this iteration.
  let firstStartMs: number | null = null;
  let isEndPlanned = false;
  let isWakePlanned = false;
  const recent = createRecentHolders();
  const bucketOf = createTokenBuckets<string>(nowMs);
  // The latest start. Its cost includes its microtasks, so it is known when something else starts.
  let latest: { holder: string; startCpuMs: number | null } | null = null;

  function start(holder: string, work: () => void): void {
    // The kernel's clock costs more than the rest of a turn, and nothing is counted while there is one holder.
    latest = { holder, startCpuMs: recent.hasOthers(holder, firstStartMs ?? nowMs()) ? cpuMs() : null };
    work();
  }

  function countLatest(): void {
    if (!latest) return;
    const { holder, startCpuMs } = latest;
    const bucket = bucketOf(holder, SHARE);
    if (recent.note(holder, bucket.filledAtMs) && startCpuMs !== null) bucket.tokens -= cpuMs() - startCpuMs;
    latest = null;
  }

  function mayStart(): boolean {
    const now = nowMs();
    firstStartMs ??= now;
    return now - firstStartMs < ROUND_MS;
  }

  function startNext(): void {
    countLatest();
    const holder = waiting.holders().find(isReady);
    const work = holder !== undefined && mayStart() ? waiting.next(holder) : undefined;
    if (holder !== undefined && work) start(holder, work);
  }

  const restMs = (holder: string) => fillTimeMs(-bucketOf(holder, SHARE).tokens, SHARE);
  const isReady = (holder: string) => restMs(holder) <= 0;
  const isAnyReady = () => waiting.holders().some(isReady);

  // Continues when the first of the resting holders may start again.
  function planWake(): void {
    if (isWakePlanned) return;
    isWakePlanned = true;
    const wake = () => {
      isWakePlanned = false;
      planEnd();
    };
    later(wake, Math.ceil(Math.min(...waiting.holders().map(restMs))));
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
    if (waiting.holders().length === 0) return;
    if (!isAnyReady()) return planWake();
    for (let i = 0; i < STARTS_PER_ROUND; i++) nextRound(startNext);
    planEnd();
  }

  return {
    enter(holder, work) {
      countLatest();
      planEnd();
      if (isReady(holder) && !isAnyReady() && mayStart()) {
        start(holder, work);
        return true;
      }
      if (waiting.countOf(holder) >= maxWaitingPerHolder) return false;
      waiting.add(holder, work);
      return true;
    },
  };
}
