import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { AppError } from "@berth/contract";
import type { RunOrder, RunReady, RunResult } from "./run-worker.ts";
import type { SystemCall } from "./system-calls.ts";

export interface RunOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  // The whole environment of the program: it inherits nothing from the server.
  env?: Record<string, string>;
  // Discards the output. Needed if the program leaves a child behind, which would keep the pipe open.
  quiet?: boolean;
}

export interface Finished {
  code: number | null;
  output: string;
}

export const PLAIN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Runs a program of the host to its end. An abort or the timeout kills it and rejects. A failing exit code resolves: the caller
// checks it.
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { signal, timeoutMs = 30_000, env = { PATH: PLAIN_PATH, LC_ALL: "C" }, quiet = false } = options;
  signal?.throwIfAborted();
  const id = nextId++;
  const kill = () => order({ type: "kill", id });
  signal?.addEventListener("abort", kill, { once: true });
  try {
    const { code, output, failure, isTimedOut } = await resultOf({ type: "run", id, command, args: [...args], env, timeoutMs, quiet });
    // After an abort, this waits until the child has ended, so that nothing of it is left.
    signal?.throwIfAborted();
    if (isTimedOut) throw new AppError("sandbox_timeout", { cause: new Error(`${command} did not end within ${timeoutMs} ms`) });
    if (failure) throw Object.assign(new Error(failure.message), { code: failure.code });
    return { code, output };
  } finally {
    signal?.removeEventListener("abort", kill);
  }
}

// Makes a call of system-calls.ts. The kernel does not interrupt it.
export async function callSystem(call: SystemCall, ...args: string[]): Promise<void> {
  const { failure } = await resultOf({ type: "call", id: nextId++, call, args });
  if (failure) throw Object.assign(new Error(failure.message), { code: failure.code });
}

export interface Held extends AsyncDisposable {
  pid: number;
}

// Starts a program that does nothing but answer its input, such as `cat`, and resolves when it answers. It runs until it is
// disposed, and does not outlive this process, because its input is closed then.
export async function hold(command: string, args: readonly string[], signal: AbortSignal): Promise<Held> {
  signal.throwIfAborted();
  const id = nextId++;
  const kill = () => order({ type: "kill", id });
  signal.addEventListener("abort", kill, { once: true });
  const ready = Promise.withResolvers<RunReady>();
  const ended = Promise.withResolvers<RunResult>();
  readying.set(id, ready.resolve);
  waiting.set(id, ended.resolve);
  order({ type: "hold", id, command, args: [...args], env: { PATH: PLAIN_PATH, LC_ALL: "C" } });
  try {
    const first = await Promise.race([ready.promise, ended.promise]);
    if (signal.aborted) await ended.promise;
    signal.throwIfAborted();
    if (!("pid" in first)) throw new Error(`${command} ${args.join(" ")} ended: ${first.output}`);
    return {
      pid: first.pid,
      async [Symbol.asyncDispose]() {
        kill();
        await ended.promise;
      },
    };
  } finally {
    readying.delete(id);
    signal.removeEventListener("abort", kill);
  }
}

// Like `run`, but rejects if the program fails.
export async function mustRun(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, output } = await run(command, args, options);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code ?? "a signal"}: ${output.slice(0, 1000)}`);
  return output;
}

// Starting a process copies the page tables of the one that starts it, and blocks it in the meantime: 2 ms for the server, and
// hundreds of milliseconds if a sandbox keeps the kernel busy with forks. The server then copies each page that it writes.
// Therefore a small worker process starts all programs. It ends with this process. A system call can take as long as a disk needs, so it is in
// that process, too, where it blocks a thread that nothing else needs.
let worker: ChildProcess | undefined;
const waiting = new Map<number, (result: RunResult) => void>();
const readying = new Map<number, (ready: RunReady) => void>();
let nextId = 0;

// A small heap, and few threads of V8, which each fork would have to stop. `--single-threaded` or `--no-opt` would cost 20 ms here: V8
// rejects the compiled code of Node's own modules if such flags differ.
const WORKER_FLAGS = ["--max-semi-space-size=1", "--single-threaded-gc", "--v8-pool-size=1"];

// The worker starts in a third of the time with compiled code. The cache has a folder for each version of Node.
const COMPILE_CACHE = fileURLToPath(new URL("../../../node_modules/.cache/berth", import.meta.url));

// A call on a slow disk does not delay those on other disks.
const WORKER_THREADS = "16";

function resultOf(message: RunOrder): Promise<RunResult> {
  const { promise, resolve } = Promise.withResolvers<RunResult>();
  waiting.set(message.id, resolve);
  order(message);
  return promise;
}

function order(message: RunOrder): void {
  worker ??= startWorker();
  worker.channel?.ref();
  worker.send(message);
}

function startWorker(): ChildProcess {
  // The argument tells the next server whose worker it is: see orphaned-commands.ts.
  const started = fork(new URL("./run-worker.ts", import.meta.url), [String(process.pid)], {
    execArgv: WORKER_FLAGS,
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env, UV_THREADPOOL_SIZE: WORKER_THREADS },
    stdio: "ignore",
    // A process group of its own: Ctrl-C in a terminal signals the server's whole group, and would end a `mount` or a runtime in the
    // middle of its work.
    detached: true,
  });
  started.unref();
  started.on("message", (message: RunResult | RunReady) => ("pid" in message ? readying.get(message.id)?.(message) : finish(message)));
  const fail = (reason: string) => {
    if (worker !== started) return;
    worker = undefined;
    const failure = { message: `the process that runs programs ${reason}` };
    for (const id of waiting.keys()) finish({ id, code: null, output: "", isTimedOut: false, failure });
  };
  started.once("exit", (code, signal) => fail(`ended with ${signal ?? code}`));
  started.on("error", (error) => fail(`failed: ${error.message}`));
  return started;
}

function finish(result: RunResult): void {
  const resolve = waiting.get(result.id);
  waiting.delete(result.id);
  // This process may end when no program runs.
  if (waiting.size === 0) worker?.channel?.unref();
  resolve?.(result);
}
