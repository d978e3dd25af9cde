import { spawn, type ChildProcess } from "node:child_process";
import { parentPort } from "node:worker_threads";

// The thread that starts the programs of run.ts.

export type RunOrder =
  | { type: "run"; id: number; command: string; args: string[]; env: Record<string, string>; timeoutMs: number; quiet: boolean }
  | { type: "kill"; id: number };

export interface RunResult {
  id: number;
  code: number | null;
  output: string;
  isTimedOut: boolean;
  // The program could not be started.
  failure?: { message: string; code?: string };
}

const MAX_OUTPUT_BYTES = 64 * 1024;
const running = new Map<number, ChildProcess>();

parentPort?.on("message", (order: RunOrder) => {
  if (order.type === "kill") return void running.get(order.id)?.kill("SIGKILL");
  try {
    start(order);
  } catch (error) {
    // An argument that no program can have, such as one with a NUL.
    report({ id: order.id, code: null, output: "", isTimedOut: false, failure: { message: String(error) } });
  }
});

function start({ id, command, args, env, timeoutMs, quiet }: RunOrder & { type: "run" }): void {
  const pipe = quiet ? "ignore" : "pipe";
  const child = spawn(command, args, { stdio: ["ignore", pipe, pipe], env });
  running.set(id, child);
  let isTimedOut = false;
  const deadline = setTimeout(() => {
    isTimedOut = true;
    child.kill("SIGKILL");
  }, timeoutMs);
  const chunks: Buffer[] = [];
  let size = 0;
  const collect = (chunk: Buffer) => {
    if (size < MAX_OUTPUT_BYTES) chunks.push(chunk);
    size += chunk.length;
  };
  child.stdout?.on("data", collect);
  child.stderr?.on("data", collect);
  const finish = (code: number | null, error?: NodeJS.ErrnoException) => {
    if (!running.delete(id)) return;
    clearTimeout(deadline);
    const failure = error && { message: error.message, ...(error.code !== undefined && { code: error.code }) };
    report({ id, code, output: Buffer.concat(chunks).toString().trim(), isTimedOut, ...(failure && { failure }) });
  };
  child.once("error", (error) => finish(null, error));
  child.once("close", (code) => finish(code));
}

function report(result: RunResult): void {
  parentPort?.postMessage(result);
}
