import { SECOND, type Clock } from "../clock.ts";
import { createLoopTurns } from "../event-loop/loop-turns.ts";
import { eventPage, type StoredEvent } from "../store/events.ts";
import type { Store } from "../store/open.ts";

// Follows a partner's events from a position on. Events of this server arrive at once, those of other servers with the next poll.
export interface Feed extends Disposable {
  // Yields batches of events, and an empty batch every few seconds without events. Ends when the signal aborts.
  follow(partnerId: string, afterSeq: number, signal: AbortSignal): AsyncGenerator<StoredEvent[], void>;
}

const POLL_MS = SECOND;
const KEEP_ALIVE_MS = 5 * SECOND;
const EVENTS_PER_BATCH = 100;

// Announces changes of sessions.
export interface Announcer {
  onChange(listener: (change: { partnerId: string }) => void): Disposable;
}

export interface FeedDeps {
  store: Store;
  sessions: Announcer;
  clock: Pick<Clock, "now">;
}

export function createFeed({ store, sessions, clock }: FeedDeps): Feed {
  const waiting = new Map<string, Set<() => void>>();
  const nextSlice = createLoopTurns();
  const listener = sessions.onChange(({ partnerId }) => {
    for (const wake of waiting.get(partnerId) ?? []) wake();
  });

  async function nextPoll(partnerId: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, POLL_MS);
    const wakers = waiting.get(partnerId) ?? new Set();
    waiting.set(partnerId, wakers.add(resolve));
    signal.addEventListener("abort", resolve as () => void, { once: true });
    await promise;
    clearTimeout(timer);
    signal.removeEventListener("abort", resolve as () => void);
    wakers.delete(resolve);
    if (wakers.size === 0 && waiting.get(partnerId) === wakers) waiting.delete(partnerId);
  }

  return {
    async *follow(partnerId, afterSeq, signal) {
      let seq = afterSeq;
      let lastYieldMs = clock.now();
      while (!signal.aborted) {
        const events = await eventPage(store.db, partnerId, seq, EVENTS_PER_BATCH);
        const last = events.at(-1);
        if (last || clock.now() - lastYieldMs >= KEEP_ALIVE_MS) {
          lastYieldMs = clock.now();
          yield events;
        }
        if (!last) {
          await nextPoll(partnerId, signal);
          continue;
        }
        seq = last.seq;
        // SQLite runs synchronously in this thread, and a fast reader never makes us wait, so other work gets a turn here.
        await nextSlice();
      }
    },
    [Symbol.dispose]: () => listener[Symbol.dispose](),
  };
}
