import type { Clock } from "../../clock.ts";
import { allowanceOf, refill, type Bucket, type Buckets } from "./rate-limit.ts";

// For one server alone. A bucket that would be full again is forgotten sooner or later; it makes no difference.
const MAX_BUCKETS = 10_000;

export function createMemoryBuckets(clock: Clock): Buckets {
  let buckets = new Map<string, Bucket>();
  return {
    take(keyId, perMinute) {
      const nowMs = clock.now();
      let bucket = buckets.get(keyId);
      if (!bucket) {
        if (buckets.size >= MAX_BUCKETS) buckets = new Map();
        buckets.set(keyId, (bucket = { tokens: perMinute, at: nowMs }));
      }
      bucket.tokens = refill(bucket, perMinute, nowMs);
      bucket.at = nowMs;
      const allowed = bucket.tokens >= 1;
      if (allowed) bucket.tokens -= 1;
      return allowanceOf(bucket.tokens, perMinute, allowed);
    },
  };
}
