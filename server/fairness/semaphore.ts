import { MINUTE } from "../clock.ts";
import { createFairQueue } from "./fair-queue.ts";
import { addCount, type HolderCounts } from "./holder-counts.ts";
import { createRecentHolders } from "./recent-holders.ts";

// Runs a bounded number of tasks at a time and queues the rest. Holders, such as partners, take turns: the one with the fewest
// running tasks comes first, and then the one that has waited longest. The tasks of one holder start in the order of arrival.
export type Semaphore = <Result>(task: Task, work: () => Promise<Result>) => Promise<Result>;

export interface Task {
  // null: work of the server itself. It has its turns like a holder's, but no holder makes room for it in advance.
  holder: string | null;
  signal: AbortSignal;
}

export interface SemaphoreOptions {
  permits: number;
  // How many of the permits one holder may have while there are others, so that the next task of another one starts at once.
  perHolder?: number;
  nowMs?: () => number;
}

const RECENT_MS = 1 * MINUTE;

export function createSemaphore({ permits, perHolder = permits, nowMs = () => performance.now() }: SemaphoreOptions): Semaphore {
  let free = permits;
  const running: HolderCounts<string | null> = new Map();
  const waiting = createFairQueue<string | null, () => void>();
  const recent = createRecentHolders({ recentMs: RECENT_MS });

  const runningOf = (holder: string | null) => running.get(holder) ?? 0;
  const mayRun = (holder: string | null) => free > 0 && runningOf(holder) < (recent.hasOthers(holder, nowMs()) ? perHolder : permits);

  function take(holder: string | null): void {
    free--;
    addCount(running, holder, 1);
  }

  async function acquire({ holder, signal }: Task): Promise<void> {
    signal.throwIfAborted();
    if (holder !== null) recent.note(holder, nowMs());
    if (waiting.countOf(holder) === 0 && mayRun(holder)) return take(holder);
    await new Promise<void>((resolve, reject) => {
      const grant = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        waiting.remove(holder, grant);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      waiting.add(holder, grant);
    });
  }

  // Hands the permit directly to the next in the queue, so that a later caller cannot take it first.
  function release(holder: string | null): void {
    free++;
    addCount(running, holder, -1);
    for (let next = nextHolder(); next !== undefined; next = nextHolder()) {
      take(next);
      waiting.next(next)?.();
    }
  }

  function nextHolder(): string | null | undefined {
    const ready = waiting.holders().filter(mayRun);
    const fewest = Math.min(...ready.map(runningOf));
    return ready.find((holder) => runningOf(holder) === fewest);
  }

  return async (task, work) => {
    await acquire(task);
    try {
      return await work();
    } finally {
      release(task.holder);
    }
  };
}
