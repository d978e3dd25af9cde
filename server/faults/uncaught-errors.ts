import type { Log } from "../log.ts";

// Longer than a stopping server gives to requests in flight, and short enough for a supervisor to restart it soon.
const DRAIN_MS = 15_000;
// An error that repeats must not fill the log while requests finish.
const MAX_LOGGED = 20;

// Resolves at the first uncaught exception or unhandled rejection. The state of the process is unknown from then on, so the
// caller stops the server and exits, and a supervisor restarts it. If the server does not stop in time, the process exits
// anyway. Further errors until then are only logged.
export function untilUncaughtError(log: Log, { drainMs = DRAIN_MS } = {}): Promise<void> {
  return new Promise((resolve) => {
    let count = 0;
    process.on("uncaughtException", (error, origin) => {
      count++;
      if (count <= MAX_LOGGED) log.error("server.uncaught_error", { origin, error: describe(error) });
      if (count > 1) return;
      setTimeout(() => {
        log.error("server.drain_timed_out", { drainMs });
        process.exit(1);
      }, drainMs);
      resolve();
    });
  });
}

const describe = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));
