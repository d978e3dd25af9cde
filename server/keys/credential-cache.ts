import { SECOND, type Clock } from "../clock.ts";
import type { Store } from "../store/open.ts";

// Stored credentials that were read a moment ago, with which most requests are authenticated without a query.
export interface CredentialCache<Found> {
  // null: there is none. Returns a promise only if the database has to be asked.
  find(id: string): Found | null | Promise<Found | null>;
  // Empties the cache, so that a change by this server applies at once. A change by another server applies within FRESH_MS,
  // on SQLite at once.
  forget(): void;
}

export interface CredentialCacheDeps<Found> {
  store: Store;
  clock: Clock;
  read(id: string): Promise<Found | null>;
}

// How long a cached credential is used. A revocation must apply everywhere within 5 s; the rest of that time is for a request that
// came just before, and for a slow database.
const FRESH_MS = 3 * SECOND;
// How often to check whether another process has written. A check costs five microseconds, too much for every request.
const CHECK_MS = 20;
// Unknown ones are cached too, so that guessing does not load the database. This bounds the memory.
const MAX_CACHED = 10_000;

interface Entry<Found> {
  readAt: number;
  found: Found | null;
}

export function createCredentialCache<Found>({ store, clock, read }: CredentialCacheDeps<Found>): CredentialCache<Found> {
  let cache = new Map<string, Entry<Found>>();
  const reading = new Map<string, Promise<Entry<Found>>>();
  let checkedAt = clock.now();
  let seenChanges = store.foreignChanges();

  function find(id: string): Found | null | Promise<Found | null> {
    const nowMs = clock.now();
    try {
      if (!isRecent(checkedAt, nowMs, CHECK_MS)) lookForChanges(nowMs);
    } catch (error) {
      return Promise.reject(error);
    }
    const known = cache.get(id);
    if (known && isRecent(known.readAt, nowMs, FRESH_MS)) return known.found;
    return readOnce(id).then(({ found }) => found);
  }

  // `berth key revoke` on this machine is another process. If the store can detect its write, it applies at once.
  function lookForChanges(nowMs: number): void {
    const changes = store.foreignChanges();
    if (changes !== seenChanges) forget();
    seenChanges = changes;
    checkedAt = nowMs;
  }

  // Concurrent requests with one credential share one query.
  function readOnce(id: string): Promise<Entry<Found>> {
    let pending = reading.get(id);
    if (!pending) {
      pending = readInto(id, cache).finally(() => reading.delete(id));
      reading.set(id, pending);
    }
    return pending;
  }

  // `into` is the cache at the time of the query: a result that arrives after `forget` is not cached.
  async function readInto(id: string, into: Map<string, Entry<Found>>): Promise<Entry<Found>> {
    const readAt = clock.now();
    const entry = { readAt, found: await read(id) };
    if (into.size >= MAX_CACHED) into.clear();
    into.set(id, entry);
    return entry;
  }

  function forget(): void {
    cache = new Map();
    reading.clear();
  }

  return { find, forget };
}

// A time in the future is not recent: the clock was set back by an unknown amount.
const isRecent = (at: number, nowMs: number, withinMs: number) => nowMs >= at && nowMs - at < withinMs;
