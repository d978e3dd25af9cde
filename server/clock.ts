import { startFrequentTimer } from "./frequent-timers.ts";

// The source of time. Tests use a clock that they advance, instead of waiting.
export interface Clock {
  now(): number;
  // Calls `work` every `periodMs` until disposed, never twice at once. Disposing waits for a running call. The first call may come earlier
  // or later by half of a period.
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
    const run = () => void (running ??= work().finally(() => (running = undefined)));
    const timer = periodMs <= SECOND ? startFrequentTimer(periodMs, run) : setInterval(run, periodMs).unref();
    return {
      async [Symbol.asyncDispose]() {
        timer[Symbol.dispose]();
        await running;
      },
    };
  },
};
