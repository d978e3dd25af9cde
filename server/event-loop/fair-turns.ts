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

  function start(holder: string, work: () => void, now: number): void {
    // The kernel's clock costs more than the rest of a turn, and nothing is counted while there is one holder.
    latest = { holder, startCpuMs: recent.hasOthers(holder, firstStartMs ?? now) ? cpuMs() : null };
    work();
  }

  // The clock is read once for each turn, because reading it costs as much as the rest of these functions.
  function countLatest(now: number): void {
    if (!latest) return;
    const { holder, startCpuMs } = latest;
    const bucket = bucketOf(holder, SHARE, now);
    if (recent.note(holder, bucket.filledAtMs) && startCpuMs !== null) bucket.tokens -= cpuMs() - startCpuMs;
    latest = null;
  }

  function mayStart(now: number): boolean {
    firstStartMs ??= now;
    return now - firstStartMs < ROUND_MS;
  }

  function startNext(): void {
    const now = nowMs();
    countLatest(now);
    const holder = waiting.holders().find((one) => isReady(one, now));
    const work = holder !== undefined && mayStart(now) ? waiting.next(holder) : undefined;
    if (holder !== undefined && work) start(holder, work, now);
  }

  const restMs = (holder: string, now: number) => fillTimeMs(-bucketOf(holder, SHARE, now).tokens, SHARE);
  const isReady = (holder: string, now: number) => restMs(holder, now) <= 0;
  const isAnyReady = (now: number) => !waiting.isEmpty() && waiting.holders().some((holder) => isReady(holder, now));

  // Continues when the first of the resting holders may start again.
  function planWake(now: number): void {
    if (isWakePlanned) return;
    isWakePlanned = true;
    const wake = () => {
      isWakePlanned = false;
      planEnd();
    };
    later(wake, Math.ceil(Math.min(...waiting.holders().map((holder) => restMs(holder, now)))));
  }

  function planEnd(): void {
    if (isEndPlanned) return;
    isEndPlanned = true;
    nextRound(endRound);
  }

  function endRound(): void {
    const now = nowMs();
    countLatest(now);
    isEndPlanned = false;
    firstStartMs = null;
    if (waiting.isEmpty()) return;
    if (!isAnyReady(now)) return planWake(now);
    for (let i = 0; i < STARTS_PER_ROUND; i++) nextRound(startNext);
    planEnd();
  }

  return {
    enter(holder, work) {
      const now = nowMs();
      countLatest(now);
      planEnd();
      if (isReady(holder, now) && !isAnyReady(now) && mayStart(now)) {
        start(holder, work, now);
        return true;
      }
      if (waiting.countOf(holder) >= maxWaitingPerHolder) return false;
      waiting.add(holder, work);
      return true;
    },
  };
}
