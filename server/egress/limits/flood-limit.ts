import { createTokenBucket, takeToken } from "../../fairness/token-bucket.ts";

// Limits how much work per second a sandbox can cause. Each connection counts as one, and so does each further request on it.
// All traffic from a sandbox to the server is counted here, which bounds its share of the event loop.
export interface FloodLimit {
  // Counts one. Returns false when the limit is exceeded, and for `restMs` after that.
  take(): boolean;
  readonly restMs: number;
  // Called once each time the limit is exceeded.
  onExceeded(listener: () => void): void;
}

export interface FloodLimitOptions {
  maxPerSecond: number;
  restMs: number;
  nowMs?: () => number;
}

export function createFloodLimit({ maxPerSecond, restMs, nowMs = () => performance.now() }: FloodLimitOptions): FloodLimit {
  const listeners: (() => void)[] = [];
  const bucket = createTokenBucket({ capacity: maxPerSecond, fillMs: 1_000 }, nowMs);
  let restEndMs = 0;
  return {
    restMs,
    take() {
      const now = bucket();
      if (now.filledAtMs < restEndMs) return false;
      if (takeToken(now)) return true;
      restEndMs = now.filledAtMs + restMs;
      // After the rest it starts again.
      now.tokens = maxPerSecond;
      for (const listener of listeners) listener();
      return false;
    },
    onExceeded: (listener) => void listeners.push(listener),
  };
}
