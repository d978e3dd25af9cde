import { spawn } from "node:child_process";
import { basename } from "node:path";
import { AppError } from "@berth/contract";
import { runWork } from "../../event-loop/loop-work.ts";

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

const MAX_OUTPUT_BYTES = 64 * 1024;
export const PLAIN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Runs a program of the host to its end. An abort or the timeout kills it and rejects. A failing exit code resolves: the caller
// checks it.
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { signal, timeoutMs = 30_000, env = { PATH: PLAIN_PATH, LC_ALL: "C" }, quiet = false } = options;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const pipe = quiet ? "ignore" : "pipe";
    // spawn blocks the event loop until the new process has started.
    const child = runWork({ name: `spawn ${basename(command)}` }, () =>
      spawn(command, args, {
        stdio: ["ignore", pipe, pipe],
        env,
        ...(signal && { signal }),
        killSignal: "SIGKILL",
        timeout: timeoutMs,
      }),
    );
    const chunks: Buffer[] = [];
    let size = 0;
    const collect = (chunk: Buffer) => {
      if (size < MAX_OUTPUT_BYTES) chunks.push(chunk);
      size += chunk.length;
    };
    child.stdout?.on("data", collect);
    child.stderr?.on("data", collect);
    let failure: Error | undefined;
    // After an abort, wait until the child has ended, so that nothing of it is left.
    child.once("error", (error) => (child.pid === undefined ? reject(error) : (failure = error)));
    child.once("close", (code) => {
      if (signal?.aborted) reject(signal.reason);
      else if (failure) reject(failure);
      else if (child.killed) reject(new AppError("sandbox_timeout", { cause: new Error(`${command} did not end within ${timeoutMs} ms`) }));
      else resolve({ code, output: Buffer.concat(chunks).toString().trim() });
    });
  });
}

// Like `run`, but rejects if the program fails.
export async function mustRun(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, output } = await run(command, args, options);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code ?? "a signal"}: ${output.slice(0, 1000)}`);
  return output;
}
