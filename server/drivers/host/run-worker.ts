import type { Spawned } from "../../../native/spawn/child.ts";
import { spawn } from "../../../native/spawn/spawn.ts";
import type { SystemCall } from "./system-calls.ts";

// The process that starts the programs of run.ts and makes its system calls, by orders of the server.

export type RunOrder =
  | { type: "run"; id: number; command: string; args: string[]; env: Record<string, string>; timeoutMs: number; quiet: boolean }
  // Starts a program that runs until it is killed or this process ends. It must answer its input once it is ready.
  | { type: "hold"; id: number; command: string; args: string[]; env: Record<string, string> }
  | { type: "call"; id: number; call: SystemCall; args: string[] }
  | { type: "kill"; id: number };

// A program that is held is ready.
export interface RunReady {
  id: number;
  pid: number;
}

export interface RunResult {
  id: number;
  code: number | null;
  output: string;
  isTimedOut: boolean;
  // The program could not be started.
  failure?: { message: string; code?: string };
}

const MAX_OUTPUT_BYTES = 64 * 1024;
// A program that was killed may leave a child that holds its output open forever.
const LAST_OUTPUT_MS = 1000;
const running = new Map<number, Spawned>();

const serverPid = process.ppid;

// The optimizing compiler costs more memory than this little code is worth.
process.getBuiltinModule("node:v8").setFlagsFromString("--no-opt");

// How many system calls the kernel works on. This process stays until their end, so that the next server sees that they are not over.
let calling = 0;
let isLeaving = false;

process.on("disconnect", leave);
// Some supervisors signal all processes of the server, which needs this one until it has stopped.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});

process.on("message", (order: RunOrder) => {
  // The next server does not expect programs that a dead one has ordered (see orphaned-commands.ts).
  if (process.ppid !== serverPid) return leave();
  if (order.type === "kill") return kill(running.get(order.id));
  try {
    if (order.type === "run") start(order);
    else if (order.type === "call") void call(order);
    else hold(order);
  } catch (error) {
    // An argument that no program can have, such as one with a NUL.
    report({ id: order.id, code: null, output: "", isTimedOut: false, failure: { message: String(error) } });
  }
});

function start({ id, command, args, env, timeoutMs, quiet }: RunOrder & { type: "run" }): void {
  const child = spawn([command, ...args], { env, stdin: "ignore", output: quiet ? "ignore" : "pipe" });
  running.set(id, child);
  let isTimedOut = false;
  const deadline = setTimeout(() => {
    isTimedOut = true;
    kill(child);
  }, timeoutMs);
  const chunks: Buffer[] = [];
  let size = 0;
  const collect = (chunk: Buffer) => {
    if (size < MAX_OUTPUT_BYTES) chunks.push(chunk);
    size += chunk.length;
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  const finish = (code: number | null, error?: NodeJS.ErrnoException) => {
    if (!running.delete(id)) return;
    clearTimeout(deadline);
    const failure = error && { message: error.message, ...(error.code !== undefined && { code: error.code }) };
    report({ id, code, output: Buffer.concat(chunks).toString().trim(), isTimedOut, ...(failure && { failure }) });
  };
  child.once("error", (error) => finish(null, error));
  child.once("close", (code) => finish(code));
  child.once("exit", (code) => setTimeout(() => finish(code), LAST_OUTPUT_MS));
}

function hold({ id, command, args, env }: RunOrder & { type: "hold" }): void {
  const child = spawn([command, ...args], { env, stdin: "pipe" });
  running.set(id, child);
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors = `${errors}${chunk.toString()}`.slice(0, 1000)));
  child.stdout.once("data", () => report({ id, pid: child.pid ?? 0 }));
  // The input may already be closed if the program fails.
  child.stdin?.on("error", () => {}).write("\n");
  const finish = (code: number | null, output: string) => {
    if (running.delete(id)) report({ id, code, output, isTimedOut: false });
  };
  child.once("error", (error) => finish(null, error.message));
  child.once("close", (code) => finish(code, errors.trim()));
  child.once("exit", (code) => setTimeout(() => finish(code, errors.trim()), LAST_OUTPUT_MS));
}

// No-op for a program that has ended: its number may belong to another one.
function kill(child: Spawned | undefined): void {
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(child.pid, "SIGKILL");
  } catch (error) {
    // A server without root cannot kill a program that has become root. The caller gets this error, and this process goes on.
    child.emit("error", error as NodeJS.ErrnoException);
  }
}

async function call({ id, call, args }: RunOrder & { type: "call" }): Promise<void> {
  calling++;
  try {
    const { callSystem } = await import("./system-calls.ts");
    await callSystem(call, args);
    report({ id, code: 0, output: "", isTimedOut: false });
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    report({ id, code: null, output: "", isTimedOut: false, failure: { message, ...(code !== undefined && { code }) } });
  } finally {
    calling--;
    if (isLeaving) leave();
  }
}

function leave(): void {
  isLeaving = true;
  if (calling === 0) process.exit();
}

function report(result: RunResult | RunReady): void {
  if (process.connected) process.send?.(result);
}
