import { request } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, isAppError } from "@berth/contract";

export interface AwaitDaemonOptions {
  dial: (signal: AbortSignal) => Promise<Socket>;
  // False once the daemon's process has ended, so that it can never answer.
  alive: () => boolean | Promise<boolean>;
  timeoutMs: number;
  pollMs?: number;
}

const HEALTH_TIMEOUT_MS = 2_000;
// The number of daemons that are polled now. The more there are, the less often each one is polled, which bounds the load.
let waiting = 0;

// Resolves as soon as the daemon answers GET /health. Rejects with `sandbox_failed` if its process has ended, and with
// `sandbox_timeout` if it does not answer in time.
export async function awaitDaemon({ dial, alive, timeoutMs, pollMs = 3 }: AwaitDaemonOptions, signal: AbortSignal): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  waiting++;
  try {
    while (!(await daemonAnswers(dial, signal))) {
      if (!(await alive())) throw new AppError("sandbox_failed", { cause: new Error("the daemon ended before it answered") });
      if (performance.now() > endMs)
        throw new AppError("sandbox_timeout", { cause: new Error(`the daemon did not answer within ${timeoutMs} ms`) });
      await sleep(pollMs + waiting, undefined, { signal });
    }
  } finally {
    waiting--;
  }
}

// Asks the daemon for its health once.
export async function daemonAnswers(dial: (signal: AbortSignal) => Promise<Socket>, signal: AbortSignal): Promise<boolean> {
  signal.throwIfAborted();
  try {
    return await isHealthy(await dial(signal), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isAppError(error, "sandbox_unreachable")) return false;
    throw error;
  }
}

function isHealthy(socket: Socket, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const health = request({ path: "/health", createConnection: () => socket, signal, headers: { connection: "close" } });
    const finish = (healthy: boolean) => {
      clearTimeout(timer);
      resolve(healthy);
      socket.destroy();
    };
    const timer = setTimeout(finish, HEALTH_TIMEOUT_MS, false);
    // Read only the status line: the sandbox controls the body, which may never end. A daemon that demands its token (401) is
    // up as well.
    health.once("response", ({ statusCode }) => finish(statusCode === 200 || statusCode === 401));
    health.on("error", () => finish(false));
    health.end();
  });
}
