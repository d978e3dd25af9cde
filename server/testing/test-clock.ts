import type { Clock } from "../clock.ts";

export interface TestClock extends Clock {
  // Advances time and awaits the periodic work that becomes due, in order.
  advance(ms: number): Promise<void>;
  // Advances time without any periodic work, as if the machine slept.
  skip(ms: number): void;
  // Advances time, with periodic work only in the last seconds: a tick for every second of an hour takes long.
  leap(ms: number): Promise<void>;
}

const LEAP_END_MS = 2_000;

export function createTestClock(startMs = Date.UTC(2030, 0, 1)): TestClock {
  let nowMs = startMs;
  const timers = new Set<{ dueMs: number; periodMs: number; work: () => Promise<void> }>();
  const clock: TestClock = {
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
    skip(ms) {
      nowMs += ms;
      for (const entry of timers) entry.dueMs = Math.max(entry.dueMs, nowMs);
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
    async leap(ms) {
      clock.skip(ms - LEAP_END_MS);
      await clock.advance(LEAP_END_MS);
    },
  };
  return clock;
}
