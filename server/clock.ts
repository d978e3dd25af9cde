// Time arrives as a clock. Tests move theirs instead of waiting.
export interface Clock {
  now(): number;
  // Calls `work` every `periodMs`, one at a time, until disposed; disposing waits for a run that is under way.
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
  // Moves time and runs, in order and to their end, the periodic works that fall due.
  advance(ms: number): Promise<void>;
}

export function createTestClock(startMs = Date.UTC(2030, 0, 1)): TestClock {
  let nowMs = startMs;
  const works = new Set<{ dueMs: number; periodMs: number; work: () => Promise<void> }>();
  return {
    now: () => nowMs,
    every(periodMs, work) {
      const entry = { dueMs: nowMs + periodMs, periodMs, work };
      works.add(entry);
      return {
        async [Symbol.asyncDispose]() {
          works.delete(entry);
        },
      };
    },
    async advance(ms) {
      const endMs = nowMs + ms;
      for (;;) {
        const next = [...works].filter((entry) => entry.dueMs <= endMs).sort((a, b) => a.dueMs - b.dueMs)[0];
        if (!next) break;
        nowMs = next.dueMs;
        next.dueMs += next.periodMs;
        await next.work();
      }
      nowMs = endMs;
    },
  };
}
