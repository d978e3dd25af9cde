import { SECOND } from "../clock.ts";
import { eventPage, type StoredEvent } from "../store/events.ts";
import type { Store } from "../store/open.ts";

// A partner's events as they happen, from one position on. Changes made by this server are seen at once, those of others
// at the next look.
export interface Feed extends Disposable {
  // Yields batches; an empty one every few seconds when nothing happens. Ends with the signal.
  follow(partnerId: string, afterSeq: number, signal: AbortSignal): AsyncGenerator<StoredEvent[], void>;
}

const LOOK_MS = SECOND;
const EMPTY_MS = 5 * SECOND;
const BATCH = 100;

// Who tells that something has happened to a session of a partner.
export interface Announcer {
  onChange(listener: (change: { partnerId: string }) => void): Disposable;
}

export function createFeed(store: Store, sessions: Announcer): Feed {
  const waiting = new Map<string, Set<() => void>>();
  const listener = sessions.onChange(({ partnerId }) => {
    for (const wake of waiting.get(partnerId) ?? []) wake();
  });

  async function nextLook(partnerId: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LOOK_MS);
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
      let quietSince = Date.now();
      while (!signal.aborted) {
        const events = await eventPage(store.db, partnerId, seq, BATCH);
        const last = events.at(-1);
        if (last || Date.now() - quietSince >= EMPTY_MS) {
          quietSince = Date.now();
          yield events;
        }
        if (last) seq = last.seq;
        else await nextLook(partnerId, signal);
      }
    },
    [Symbol.dispose]: () => listener[Symbol.dispose](),
  };
}
