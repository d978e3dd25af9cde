import { SECOND, MINUTE, type Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/open.ts";
import { hashKey } from "../api-key-format.ts";
import { fromRow, type Partner } from "./partners.ts";

export interface Authenticated {
  partner: Partner;
  keyId: string;
}

export interface Authenticator extends AsyncDisposable {
  // Who presents this key; null for a key that never was, is malformed, revoked or expired, or whose partner is suspended.
  // All of these take the same steps, so that the time tells nothing.
  authenticate(key: string): Promise<Authenticated | null>;
  // Forgets what is known, so that a change made by this server counts at once. Another one's counts within FRESH_MS, and at
  // once on SQLite.
  forget(): void;
  // Writes down when keys were last used. Happens by itself every minute and at the end.
  flush(): Promise<void>;
}

export interface AuthenticatorDeps {
  store: Store;
  clock: Clock;
  log: Log;
}

// How long an answer of the database is believed. A revocation counts everywhere within 5 s: what is left is for a request
// that came just before, and for a slow database.
const FRESH_MS = 3 * SECOND;
// How often the store is asked whether somebody else has written: five microseconds that need not be spent on each request.
const CHECK_MS = 20;
// Unknown keys are remembered too, so that guessing costs the database no more than using; this bounds the memory.
const REMEMBERED = 10_000;
const FLUSH_MS = MINUTE;

interface Known {
  readAt: number;
  found: (Authenticated & { expiresAt: number | null }) | null;
}

export function createAuthenticator({ store, clock, log }: AuthenticatorDeps): Authenticator {
  let known = new Map<string, Known>();
  const reading = new Map<string, Promise<Known>>();
  const usedAt = new Map<string, number>();

  let checkedAt = clock.now();
  let seenChanges = store.foreignChanges();

  async function authenticate(key: string): Promise<Authenticated | null> {
    const hash = hashKey(key);
    const nowMs = clock.now();
    if (!isRecent(checkedAt, nowMs, CHECK_MS)) lookForChanges(nowMs);
    let entry = known.get(hash);
    if (!entry || !isRecent(entry.readAt, nowMs, FRESH_MS)) entry = await readOnce(hash);
    const { found } = entry;
    if (!found || (found.expiresAt !== null && found.expiresAt <= nowMs)) return null;
    usedAt.set(found.keyId, nowMs);
    return found;
  }

  // `berth key revoke` on this machine is another process: where the store can tell, it counts at once.
  function lookForChanges(nowMs: number): void {
    const changes = store.foreignChanges();
    if (changes !== seenChanges) forget();
    seenChanges = changes;
    checkedAt = nowMs;
  }

  // Many requests with one key at once ask the database once.
  function readOnce(hash: string): Promise<Known> {
    let pending = reading.get(hash);
    if (!pending) {
      pending = read(hash, known).finally(() => reading.delete(hash));
      reading.set(hash, pending);
    }
    return pending;
  }

  // `into` is the memory of the time of asking: an answer that arrives after `forget` is not remembered.
  async function read(hash: string, into: Map<string, Known>): Promise<Known> {
    const readAt = clock.now();
    const row = await store.db
      .selectFrom("keys")
      .innerJoin("partners", "partners.id", "keys.partner_id")
      .selectAll("partners")
      .select(["keys.id as keyId", "keys.expires_at as expiresAt", "keys.revoked_at as revokedAt"])
      .where("keys.hash", "=", hash)
      .executeTakeFirst();
    const valid = row && row.revokedAt === null && row.state === "active";
    const entry: Known = { readAt, found: valid ? { partner: fromRow(row), keyId: row.keyId, expiresAt: row.expiresAt } : null };
    if (into.size >= REMEMBERED) into.clear();
    into.set(hash, entry);
    return entry;
  }

  async function flush(): Promise<void> {
    const batch = [...usedAt];
    usedAt.clear();
    if (batch.length === 0) return;
    try {
      await store.transaction(async (tx) => {
        for (const [id, at] of batch)
          await tx
            .updateTable("keys")
            .set({ last_used_at: at })
            .where("id", "=", id)
            .where((row) => row.or([row("last_used_at", "is", null), row("last_used_at", "<", at)]))
            .execute();
      });
    } catch (error) {
      for (const [id, at] of batch) usedAt.set(id, Math.max(at, usedAt.get(id) ?? 0));
      log.warn("keys.last_used_not_written", { keys: batch.length, message: String(error) });
    }
  }

  function forget(): void {
    known = new Map();
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

// A time in the future is not recent: the clock was set back, and nobody knows how long ago that was.
const isRecent = (at: number, nowMs: number, withinMs: number) => nowMs >= at && nowMs - at < withinMs;
