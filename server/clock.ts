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
