// A token bucket limits a rate: it fills evenly, and a holder takes tokens out of it by subtracting them. It may take more than there are,
// and then has to wait until the bucket has filled again.
export interface TokenBucket {
  tokens: number;
  filledAtMs: number;
}

export interface BucketSize {
  capacity: number;
  // The time in which an empty bucket fills.
  fillMs: number;
}

// A bucket, filled up to now by each call. It is full at first.
export function createTokenBucket(size: BucketSize, nowMs: () => number): () => TokenBucket {
  const bucket = { tokens: size.capacity, filledAtMs: nowMs() };
  return () => fill(bucket, size, nowMs());
}

// A bucket for each holder, filled up to now, which a caller that knows the time may name.
export function createTokenBuckets<Holder>(nowMs: () => number): (holder: Holder, size: BucketSize, now?: number) => TokenBucket {
  const buckets = new Map<Holder, TokenBucket & { size: BucketSize }>();
  let sweepAtSize = SWEEP_AT_SIZE;

  // A full bucket is like a new one.
  function sweep(now: number): void {
    for (const [holder, bucket] of buckets) if (fill(bucket, bucket.size, now).tokens === bucket.size.capacity) buckets.delete(holder);
    sweepAtSize = Math.max(SWEEP_AT_SIZE, 2 * buckets.size);
  }

  return (holder, size, now = nowMs()) => {
    const known = buckets.get(holder);
    if (known) {
      known.size = size;
      return fill(known, size, now);
    }
    if (buckets.size >= sweepAtSize) sweep(now);
    const bucket = { tokens: size.capacity, filledAtMs: now, size };
    buckets.set(holder, bucket);
    return bucket;
  };
}

const SWEEP_AT_SIZE = 1_000;

// False, without taking it, if there is no whole token.
export function takeToken(bucket: TokenBucket): boolean {
  if (bucket.tokens < 1) return false;
  bucket.tokens--;
  return true;
}

// How long it takes until a bucket has so many tokens more.
export const fillTimeMs = (tokens: number, { capacity, fillMs }: BucketSize): number => (tokens * fillMs) / capacity;

function fill<Bucket extends TokenBucket>(bucket: Bucket, { capacity, fillMs }: BucketSize, nowMs: number): Bucket {
  // A clock that goes back adds nothing.
  bucket.tokens = Math.min(capacity, bucket.tokens + (Math.max(0, nowMs - bucket.filledAtMs) * capacity) / fillMs);
  bucket.filledAtMs = nowMs;
  return bucket;
}
