// How much work a sandbox may give the server in a second: a connection counts one, and so does each further request on
// it. Everything that a sandbox sends to the server is counted here, so this bounds how much of the server's one thread
// it can take.
export interface FloodLimit {
  // Counts one. False when the sandbox is over its limit, and for `restMs` after that.
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
  let windowEndMs = 0;
  let restEndMs = 0;
  let taken = 0;
  return {
    restMs,
    take() {
      const now = nowMs();
      if (now < restEndMs) return false;
      if (now >= windowEndMs) [windowEndMs, taken] = [now + 1_000, 0];
      if (++taken <= maxPerSecond) return true;
      [restEndMs, windowEndMs] = [now + restMs, 0];
      for (const listener of listeners) listener();
      return false;
    },
    onExceeded: (listener) => void listeners.push(listener),
  };
}
