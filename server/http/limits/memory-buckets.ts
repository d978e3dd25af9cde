import type { Clock } from "../../clock.ts";
import { denied, granted, refill, type Bucket, type Buckets } from "./rate-limit.ts";

// Bounds the memory. Dropping the buckets early only gives some keys a full bucket again.
const MAX_BUCKETS = 10_000;

// For a single server.
export function createMemoryBuckets(clock: Clock): Buckets {
  let buckets = new Map<string, Bucket>();
  return {
    take(keyId, perMinute) {
      const nowMs = clock.now();
      let bucket = buckets.get(keyId);
      if (!bucket) {
        if (buckets.size >= MAX_BUCKETS) buckets = new Map();
        buckets.set(keyId, (bucket = { tokens: perMinute, updatedAt: nowMs }));
      }
      bucket.tokens = refill(bucket, perMinute, nowMs);
      bucket.updatedAt = nowMs;
      if (bucket.tokens < 1) return denied(bucket.tokens, perMinute);
      bucket.tokens -= 1;
      return granted(bucket.tokens, perMinute);
    },
  };
}
