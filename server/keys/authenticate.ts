import type { KeyScope } from "@berth/contract";
import { MINUTE, type Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { findKeyHolder, setKeyUsed, type KeyHolder } from "../store/partners/keys.ts";
import type { Store } from "../store/open.ts";
import type { Partner } from "../store/partners/partners.ts";
import { hashKey } from "../api-key-format.ts";
import { createCredentialCache } from "./credential-cache.ts";

export interface Authenticated {
  partner: Partner;
  keyId: string;
  scope: KeyScope;
}

export interface Authenticator extends AsyncDisposable {
  // The partner of this key. null for a key that is unknown, malformed, revoked or expired, or whose partner is suspended.
  // All of these take the same path, so that timing reveals nothing. Returns a promise only if the database has to be asked.
  authenticate(key: string): Authenticated | null | Promise<Authenticated | null>;
  // Makes a change by this server apply at once (see credential-cache.ts).
  forget(): void;
  // Stores when keys were last used. Also runs every minute and at the end.
  flush(): Promise<void>;
}

export interface AuthenticatorDeps {
  store: Store;
  clock: Clock;
  log: Log;
}

const FLUSH_MS = MINUTE;

export function createAuthenticator({ store, clock, log }: AuthenticatorDeps): Authenticator {
  const usedAt = new Map<string, number>();
  const keys = createCredentialCache({
    store,
    clock,
    async read(hash) {
      const holder = await findKeyHolder(store.db, hash);
      return holder && holder.revokedAt === null && holder.partner.state === "active" ? holder : null;
    },
  });

  function authenticate(key: string): Authenticated | null | Promise<Authenticated | null> {
    const found = keys.find(hashKey(key));
    const nowMs = clock.now();
    return found instanceof Promise ? found.then((holder) => use(holder, nowMs)) : use(found, nowMs);
  }

  function use(holder: KeyHolder | null, nowMs: number): Authenticated | null {
    if (!holder || (holder.expiresAt !== null && holder.expiresAt <= nowMs)) return null;
    usedAt.set(holder.keyId, nowMs);
    return holder;
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

  const flushing = clock.every(FLUSH_MS, flush);
  return {
    authenticate,
    forget: keys.forget,
    flush,
    async [Symbol.asyncDispose]() {
      await flushing[Symbol.asyncDispose]();
      await flush();
    },
  };
}
