import type { Log } from "../log.ts";

// Longer than answers that are under way get when a server stops, shorter than anybody wants to wait for the next server.
const DRAIN_MS = 15_000;
// A fault that repeats must not fill the disk with logs while requests finish.
const MAX_LOGGED = 20;

// Resolves at the first error that nothing caught, thrown or rejected. It has left something half done that no code knows
// of, so the process has to end: the caller stops the server and exits, and the supervisor starts the next one. Should the
// server not stop in time, the process exits all the same. Until then further errors are logged and change nothing.
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
