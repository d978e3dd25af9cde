import { SECOND, type Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
import { reserveTokens } from "../../store/rate-buckets.ts";
import { allowanceOf, type Allowance, type Buckets } from "./rate-limit.ts";

// For several servers on one PostgreSQL. A server takes tokens out of the shared bucket a hundredth at a time and hands
// them out from memory, so that most requests cost the database nothing and the limit holds over all servers.
const RESERVE_SHARE = 100;
// What is not used by then is given up; the bucket refills by eight times as much meanwhile.
const KEPT_MS = 5 * SECOND;

interface Purse {
  tokens: number;
  until: number;
  // In the shared bucket after the last look.
  left: number;
  asking?: Promise<void>;
}

export function createSharedBuckets(store: Store, clock: Clock, log: Log): Buckets {
  const purses = new Map<string, Purse>();

  function spend(purse: Purse, perMinute: number): Allowance | null {
    if (purse.tokens < 1 || purse.until <= clock.now()) return null;
    purse.tokens -= 1;
    return allowanceOf(purse.left + purse.tokens, perMinute, true);
  }

  async function fetchTokens(keyId: string, purse: Purse, perMinute: number): Promise<void> {
    try {
      const wanted = Math.max(1, Math.floor(perMinute / RESERVE_SHARE));
      const { granted, left } = await reserveTokens(store.db, keyId, wanted, perMinute, clock.now());
      purse.tokens = granted;
      purse.left = left;
    } catch (error) {
      // Without the database next to nothing works; the limit need not be what says so.
      log.warn("rate_limit.unavailable", { error: String(error) });
      purse.tokens = 1;
    }
    purse.until = clock.now() + KEPT_MS;
  }

  async function takeSlowly(keyId: string, purse: Purse, perMinute: number): Promise<Allowance> {
    for (;;) {
      purse.asking ??= fetchTokens(keyId, purse, perMinute).finally(() => (purse.asking = undefined));
      await purse.asking;
      const allowance = spend(purse, perMinute);
      if (allowance) return allowance;
      // Others that waited too may have used up what came; only an empty bucket is a refusal.
      if (purse.left < 1) return allowanceOf(purse.left, perMinute, false);
    }
  }

  return {
    take(keyId, perMinute) {
      let purse = purses.get(keyId);
      if (!purse) purses.set(keyId, (purse = { tokens: 0, until: 0, left: 0 }));
      return spend(purse, perMinute) ?? takeSlowly(keyId, purse, perMinute);
    },
  };
}
