import { MINUTE } from "../clock.ts";
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
  const running = new Map<string | null, number>();
  // In round-robin order.
  const waiting = new Map<string | null, Set<() => void>>();
  const recent = createRecentHolders({ recentMs: RECENT_MS });

  const runningOf = (holder: string | null) => running.get(holder) ?? 0;
  const mayRun = (holder: string | null) => free > 0 && runningOf(holder) < (recent.hasOthers(holder, nowMs()) ? perHolder : permits);

  function take(holder: string | null): void {
    free--;
    running.set(holder, runningOf(holder) + 1);
  }

  async function acquire({ holder, signal }: Task): Promise<void> {
    signal.throwIfAborted();
    if (holder !== null) recent.note(holder, nowMs());
    if (!waiting.has(holder) && mayRun(holder)) return take(holder);
    await new Promise<void>((resolve, reject) => {
      const queue = waiting.get(holder) ?? new Set();
      const grant = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        queue.delete(grant);
        if (queue.size === 0) waiting.delete(holder);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      waiting.set(holder, queue.add(grant));
    });
  }

  // Hands the permit directly to the next in the queue, so that a later caller cannot take it first.
  function release(holder: string | null): void {
    free++;
    if (runningOf(holder) === 1) running.delete(holder);
    else running.set(holder, runningOf(holder) - 1);
    for (let next = nextHolder(); next !== undefined; next = nextHolder()) startNext(next);
  }

  function nextHolder(): string | null | undefined {
    const ready = [...waiting.keys()].filter(mayRun);
    const fewest = Math.min(...ready.map(runningOf));
    return ready.find((holder) => runningOf(holder) === fewest);
  }

  function startNext(holder: string | null): void {
    const queue = waiting.get(holder)!;
    const [grant] = queue;
    waiting.delete(holder);
    if (grant) queue.delete(grant);
    if (queue.size > 0) waiting.set(holder, queue);
    take(holder);
    grant?.();
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
