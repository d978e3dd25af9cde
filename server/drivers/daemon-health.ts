import { type FSWatcher, lstatSync, watch } from "node:fs";
import type { Socket } from "node:net";
import { dirname } from "node:path";
import { addAbortSignal } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, isAppError } from "@berth/contract";

export interface AwaitDaemonOptions {
  dial: (signal: AbortSignal) => Promise<Socket>;
  // False once the daemon's process has ended, so that it can never answer.
  alive: () => boolean | Promise<boolean>;
  // How often `alive` is called at most, if it is expensive.
  aliveEveryMs?: number;
  timeoutMs: number;
  pollMs?: number;
  // The socket that `dial` opens. The daemon is asked when it exists, and a change in its folder ends the wait for the next poll.
  socket?: string | undefined;
}

const HEALTH_TIMEOUT_MS = 2_000;
const POLL_WATCHED_MS = 50;
const STATUS_LENGTH = "HTTP/1.1 200 ".length;
const HEALTHY = /^HTTP\/1\.1 (200|401) /;
// The number of daemons that are polled now. The more there are, the less often each one is polled, which bounds the load.
let waiting = 0;

// Resolves as soon as the daemon answers GET /health. Rejects with `sandbox_failed` if its process has ended, and with
// `sandbox_timeout` if it does not answer in time.
export async function awaitDaemon(options: AwaitDaemonOptions, signal: AbortSignal): Promise<void> {
  const { dial, alive, aliveEveryMs = 0, timeoutMs, pollMs = 3, socket } = options;
  const endMs = performance.now() + timeoutMs;
  let checkedMs = performance.now();
  const answers = async () => (socket === undefined || mayExist(socket)) && (await daemonAnswers(dial, signal));
  signal.throwIfAborted();
  if (await answers()) return;
  using folder = watchFolder(socket && dirname(socket));
  waiting++;
  try {
    while (!(await answers())) {
      const nowMs = performance.now();
      if (nowMs - checkedMs >= aliveEveryMs) {
        if (!(await alive())) throw new AppError("sandbox_failed", { cause: new Error("the daemon ended before it answered") });
        checkedMs = nowMs;
      }
      if (nowMs > endMs) throw new AppError("sandbox_timeout", { cause: new Error(`the daemon did not answer within ${timeoutMs} ms`) });
      await folder.change((folder.isWatched ? POLL_WATCHED_MS : pollMs) + waiting);
      signal.throwIfAborted();
    }
  } finally {
    waiting--;
  }
}

// False only if there is no such file. A sandbox may put a link to any path of the host in its place, which is not followed.
function mayExist(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

// Watching is only faster than polling, so it is no error if it is not possible.
function watchFolder(path: string | undefined): Disposable & { isWatched: boolean; change(timeoutMs: number): Promise<void> } {
  let onChange = () => {};
  let hasChanged = false;
  const watcher =
    path === undefined
      ? undefined
      : tryWatch(path, () => {
          hasChanged = true;
          onChange();
        });
  return {
    isWatched: watcher !== undefined,
    async change(timeoutMs) {
      // The sandbox may change the folder as often as it likes.
      await sleep(1);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, hasChanged ? 0 : timeoutMs);
        onChange = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      hasChanged = false;
    },
    [Symbol.dispose]: () => watcher?.close(),
  };
}

function tryWatch(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    return watch(path, { persistent: false }, onChange).on("error", () => {});
  } catch {
    return undefined;
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

// Reads only the status line: the sandbox controls the rest, which may never end. A daemon that demands its token (401) is up as well.
function isHealthy(socket: Socket, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    let head = "";
    const finish = (healthy: boolean) => {
      clearTimeout(timer);
      resolve(healthy);
      socket.destroy();
    };
    const timer = setTimeout(finish, HEALTH_TIMEOUT_MS, false);
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      head += chunk;
      if (head.length >= STATUS_LENGTH) finish(HEALTHY.test(head));
    });
    socket.once("error", () => finish(false)).once("close", () => finish(false));
    addAbortSignal(signal, socket);
    socket.write("GET /health HTTP/1.1\r\nhost: sandbox\r\nconnection: close\r\n\r\n");
  });
}
