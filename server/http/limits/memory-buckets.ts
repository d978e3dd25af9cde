import { MINUTE, type Clock } from "../../clock.ts";
import { createTokenBuckets, takeToken } from "../../fairness/token-bucket.ts";
import { denied, granted, type Buckets } from "./rate-limit.ts";

// Used by a single server.
export function createMemoryBuckets(clock: Clock): Buckets {
  const bucketOf = createTokenBuckets<string>(() => clock.now());
  return {
    take(keyId, perMinute) {
      const bucket = bucketOf(keyId, { capacity: perMinute, fillMs: MINUTE });
      return takeToken(bucket) ? granted(bucket.tokens, perMinute) : denied(bucket.tokens, perMinute);
    },
  };
}
