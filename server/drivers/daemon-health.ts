import { request } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, isAppError } from "@berth/contract";

export interface AwaitDaemonOptions {
  dial: (signal: AbortSignal) => Promise<Socket>;
  // False once it is certain that the daemon will never answer, because its process is gone.
  alive: () => boolean | Promise<boolean>;
  timeoutMs: number;
  pollMs?: number;
}

const TRY_MS = 2_000;
// How many sandboxes are being waited for. In a crowd everybody asks less often, so that asking does not become the work.
let waiting = 0;

// Resolves as soon as the daemon answers GET /health. Rejects with `sandbox_failed` when its process has ended, with
// `sandbox_timeout` when it does not answer in time.
export async function awaitDaemon({ dial, alive, timeoutMs, pollMs = 3 }: AwaitDaemonOptions, signal: AbortSignal): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  waiting++;
  try {
    while (!(await daemonAnswers(dial, signal))) {
      if (!(await alive())) throw new AppError("sandbox_failed", { cause: new Error("the daemon ended before it answered") });
      if (performance.now() > endMs)
        throw new AppError("sandbox_timeout", { cause: new Error(`the daemon did not answer in ${timeoutMs} ms`) });
      await sleep(pollMs + waiting, undefined, { signal });
    }
  } finally {
    waiting--;
  }
}

// One question, one answer: true when the daemon says that it is well.
export async function daemonAnswers(dial: (signal: AbortSignal) => Promise<Socket>, signal: AbortSignal): Promise<boolean> {
  signal.throwIfAborted();
  try {
    return await askHealth(await dial(signal), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isAppError(error, "sandbox_unreachable")) return false;
    throw error;
  }
}

function askHealth(socket: Socket, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ path: "/health", createConnection: () => socket, signal, headers: { connection: "close" } });
    const finish = (well: boolean) => {
      clearTimeout(timer);
      resolve(well);
      socket.destroy();
    };
    const timer = setTimeout(finish, TRY_MS, false);
    // The status line is all that matters, and all that is read: the body is the sandbox's and may never end. A daemon that
    // asks for its token is as awake as one that does not.
    asked.once("response", ({ statusCode }) => finish(statusCode === 200 || statusCode === 401));
    asked.on("error", () => finish(false));
    asked.end();
  });
}
