// The source of time. Tests use a clock that they advance, instead of waiting.
export interface Clock {
  now(): number;
  // Calls `work` every `periodMs` until disposed, never twice at once. Disposing waits for a running call.
  every(periodMs: number, work: () => Promise<void>): AsyncDisposable;
}

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const systemClock: Clock = {
  now: () => Date.now(),
  every(periodMs, work) {
    let running: Promise<void> | undefined;
    const timer = setInterval(() => {
      running ??= work().finally(() => (running = undefined));
    }, periodMs);
    timer.unref();
    return {
      async [Symbol.asyncDispose]() {
        clearInterval(timer);
        await running;
      },
    };
  },
};

export interface TestClock extends Clock {
  // Advances time and awaits the periodic work that becomes due, in order.
  advance(ms: number): Promise<void>;
}

export function createTestClock(startMs = Date.UTC(2030, 0, 1)): TestClock {
  let nowMs = startMs;
  const timers = new Set<{ dueMs: number; periodMs: number; work: () => Promise<void> }>();
  return {
    now: () => nowMs,
    every(periodMs, work) {
      const entry = { dueMs: nowMs + periodMs, periodMs, work };
      timers.add(entry);
      return {
        async [Symbol.asyncDispose]() {
          timers.delete(entry);
        },
      };
    },
    async advance(ms) {
      const endMs = nowMs + ms;
      for (;;) {
        const next = [...timers].filter((entry) => entry.dueMs <= endMs).sort((a, b) => a.dueMs - b.dueMs)[0];
        if (!next) break;
        nowMs = next.dueMs;
        next.dueMs += next.periodMs;
        await next.work();
      }
      nowMs = endMs;
    },
  };
}
