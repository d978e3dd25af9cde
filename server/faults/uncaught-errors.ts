import type { Log } from "../log.ts";

// An error that repeats must not fill the log while requests finish.
const MAX_LOGGED = 20;

// Resolves at the first uncaught exception or unhandled rejection. The state of the process is unknown from then on, so the
// caller stops the server and exits, and a supervisor restarts it. Further errors until then are only logged.
export function untilUncaughtError(log: Log): Promise<void> {
  return new Promise((resolve) => {
    let count = 0;
    process.on("uncaughtException", (error, origin) => {
      count++;
      if (count <= MAX_LOGGED) log.error("server.uncaught_error", { origin, error: describe(error) });
      resolve();
    });
  });
}

const describe = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));
