import { SECOND, type Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
import { reserveTokens } from "../../store/partners/rate-buckets.ts";
import { denied, granted, type Allowance, type Buckets } from "./rate-limit.ts";

// A server reserves this fraction of a minute's tokens at a time.
const RESERVATIONS_PER_MINUTE = 100;
// Unused tokens of a reservation expire. Meanwhile the shared bucket refills by eight times as many.
const RESERVATION_MS = 5 * SECOND;

interface Reservation {
  tokens: number;
  expiresAt: number;
  // The tokens in the shared bucket after the reservation.
  sharedTokens: number;
  renewal?: Promise<void>;
}

// For several servers on one PostgreSQL. Each server reserves tokens from the shared bucket in small batches and spends them
// from memory: most requests cost no query, and the limit holds across all servers.
export function createSharedBuckets(store: Store, clock: Clock, log: Log): Buckets {
  const reservations = new Map<string, Reservation>();

  function spend(reservation: Reservation, perMinute: number): Allowance | null {
    if (reservation.tokens < 1 || reservation.expiresAt <= clock.now()) return null;
    reservation.tokens -= 1;
    return granted(reservation.sharedTokens + reservation.tokens, perMinute);
  }

  async function renew(keyId: string, reservation: Reservation, perMinute: number): Promise<void> {
    try {
      const count = Math.max(1, Math.floor(perMinute / RESERVATIONS_PER_MINUTE));
      const { granted: tokens, left } = await reserveTokens(store.db, keyId, count, perMinute, clock.now());
      reservation.tokens = tokens;
      reservation.sharedTokens = left;
    } catch (error) {
      // Fail open: if the database is down, the request itself reports that.
      log.warn("rate_limit.unavailable", { error: String(error) });
      reservation.tokens = 1;
    }
    reservation.expiresAt = clock.now() + RESERVATION_MS;
  }

  async function renewAndSpend(keyId: string, reservation: Reservation, perMinute: number): Promise<Allowance> {
    for (;;) {
      reservation.renewal ??= renew(keyId, reservation, perMinute).finally(() => (reservation.renewal = undefined));
      await reservation.renewal;
      const allowance = spend(reservation, perMinute);
      if (allowance) return allowance;
      // Concurrent requests may have spent the new tokens. Deny only if the shared bucket is empty too.
      if (reservation.sharedTokens < 1) return denied(reservation.sharedTokens, perMinute);
    }
  }

  return {
    take(keyId, perMinute) {
      let reservation = reservations.get(keyId);
      if (!reservation) reservations.set(keyId, (reservation = { tokens: 0, expiresAt: 0, sharedTokens: 0 }));
      return spend(reservation, perMinute) ?? renewAndSpend(keyId, reservation, perMinute);
    },
  };
}
