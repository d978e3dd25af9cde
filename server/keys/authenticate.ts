import type { KeyScope } from "@berth/contract";
import { SECOND, MINUTE, type Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { findKeyHolder, setKeyUsed } from "../store/partners/keys.ts";
import type { Store } from "../store/open.ts";
import type { Partner } from "../store/partners/partners.ts";
import { hashKey } from "../api-key-format.ts";

export interface Authenticated {
  partner: Partner;
  keyId: string;
  scope: KeyScope;
}

export interface Authenticator extends AsyncDisposable {
  // The partner of this key. null for a key that is unknown, malformed, revoked or expired, or whose partner is suspended.
  // All of these take the same path, so that timing reveals nothing. Returns a promise only if the database has to be asked.
  authenticate(key: string): Authenticated | null | Promise<Authenticated | null>;
  // Empties the cache, so that a change by this server applies at once. A change by another server applies within FRESH_MS,
  // on SQLite at once.
  forget(): void;
  // Stores when keys were last used. Also runs every minute and at the end.
  flush(): Promise<void>;
}

export interface AuthenticatorDeps {
  store: Store;
  clock: Clock;
  log: Log;
}

// How long a cached key is used. A revocation must apply everywhere within 5 s; the rest of that time is for a request that
// came just before, and for a slow database.
const FRESH_MS = 3 * SECOND;
// How often to check whether another process has written. A check costs five microseconds, too much for every request.
const CHECK_MS = 20;
// Unknown keys are cached too, so that guessing keys does not load the database. This bounds the memory.
const MAX_CACHED = 10_000;
const FLUSH_MS = MINUTE;

interface CachedKey {
  readAt: number;
  found: (Authenticated & { expiresAt: number | null }) | null;
}

export function createAuthenticator({ store, clock, log }: AuthenticatorDeps): Authenticator {
  let cache = new Map<string, CachedKey>();
  const reading = new Map<string, Promise<CachedKey>>();
  const usedAt = new Map<string, number>();

  let checkedAt = clock.now();
  let seenChanges = store.foreignChanges();

  function authenticate(key: string): Authenticated | null | Promise<Authenticated | null> {
    const hash = hashKey(key);
    const nowMs = clock.now();
    try {
      if (!isRecent(checkedAt, nowMs, CHECK_MS)) lookForChanges(nowMs);
    } catch (error) {
      return Promise.reject(error);
    }
    const known = cache.get(hash);
    if (known && isRecent(known.readAt, nowMs, FRESH_MS)) return holderOf(known, nowMs);
    return readOnce(hash).then((entry) => holderOf(entry, nowMs));
  }

  function holderOf({ found }: CachedKey, nowMs: number): Authenticated | null {
    if (!found || (found.expiresAt !== null && found.expiresAt <= nowMs)) return null;
    usedAt.set(found.keyId, nowMs);
    return found;
  }

  // `berth key revoke` on this machine is another process. If the store can detect its write, it applies at once.
  function lookForChanges(nowMs: number): void {
    const changes = store.foreignChanges();
    if (changes !== seenChanges) forget();
    seenChanges = changes;
    checkedAt = nowMs;
  }

  // Concurrent requests with one key share one query.
  function readOnce(hash: string): Promise<CachedKey> {
    let pending = reading.get(hash);
    if (!pending) {
      pending = read(hash, cache).finally(() => reading.delete(hash));
      reading.set(hash, pending);
    }
    return pending;
  }

  // `into` is the cache at the time of the query: a result that arrives after `forget` is not cached.
  async function read(hash: string, into: Map<string, CachedKey>): Promise<CachedKey> {
    const readAt = clock.now();
    const holder = await findKeyHolder(store.db, hash);
    const isValid = holder && holder.revokedAt === null && holder.partner.state === "active";
    const entry: CachedKey = { readAt, found: isValid ? holder : null };
    if (into.size >= MAX_CACHED) into.clear();
    into.set(hash, entry);
    return entry;
  }

  async function flush(): Promise<void> {
    const batch = [...usedAt];
    usedAt.clear();
    if (batch.length === 0) return;
    try {
      await store.transaction(async (tx) => {
        for (const [id, at] of batch) await setKeyUsed(tx, id, at);
      });
    } catch (error) {
      for (const [id, at] of batch) usedAt.set(id, Math.max(at, usedAt.get(id) ?? 0));
      log.warn("keys.last_used_not_written", { keys: batch.length, message: String(error) });
    }
  }

  function forget(): void {
    cache = new Map();
    reading.clear();
  }

  const flushing = clock.every(FLUSH_MS, flush);
  return {
    authenticate,
    forget,
    flush,
    async [Symbol.asyncDispose]() {
      await flushing[Symbol.asyncDispose]();
      await flush();
    },
  };
}

// A time in the future is not recent: the clock was set back by an unknown amount.
const isRecent = (at: number, nowMs: number, withinMs: number) => nowMs >= at && nowMs - at < withinMs;
