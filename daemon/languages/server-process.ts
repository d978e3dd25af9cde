import { totalmem } from "node:os";
import { readProcess } from "../programs/system/process-table.ts";
import { startProgram } from "../programs/program.ts";
import { signalGroup } from "../programs/system/process-group.ts";
import type { FoundServer } from "./catalogue.ts";
import { createMessageReader, frameMessage } from "./message-frames.ts";

// The process of one language server.
export interface ServerProcess {
  // undefined if it could not be started.
  readonly pid: number | undefined;
  // Returns false if the server does not keep up. `onDrain` is called when it does again.
  send(message: Buffer): boolean;
  // Pauses and resumes the server's messages.
  pause(): void;
  resume(): void;
  kill(): void;
}

export interface ServerProcessOptions {
  server: FoundServer;
  cwd: string;
  env: Record<string, string>;
  memoryBytes: number;
  onMessage: (message: Buffer) => void;
  onDrain: () => void;
  // Called once. The reason is for people.
  onEnd: (reason: string) => void;
}

const MEMORY_CHECK_MS = 5000;
const MIN_MEMORY_BYTES = 256 * 1024 * 1024;
const MAX_MEMORY_BYTES = 1024 * 1024 * 1024;

// How much memory one server may use: half of the sandbox's, within bounds.
export function serverMemoryBytes(sandboxBytes = process.constrainedMemory() || totalmem()): number {
  return Math.min(MAX_MEMORY_BYTES, Math.max(MIN_MEMORY_BYTES, Math.min(sandboxBytes, totalmem()) / 2));
}

export function startServer(options: ServerProcessOptions): ServerProcess {
  const { server, cwd, memoryBytes, onMessage, onDrain, onEnd } = options;
  const program = startProgram([server.command, ...server.args], { cwd, env: { ...options.env, ...memoryVariables(memoryBytes) } });
  program.stderr.resume();
  let ended = false;
  const end = (reason: string) => {
    if (ended) return;
    ended = true;
    clearInterval(memoryCheck);
    // This is also needed after its exit, because it may have left processes.
    if (program.pid !== undefined) signalGroup(program.pid, "SIGKILL");
    onEnd(reason);
  };
  const memoryCheck = setInterval(() => {
    if (program.pid !== undefined && (readProcess(program.pid)?.memoryBytes ?? 0) > memoryBytes) end("It used too much memory");
  }, MEMORY_CHECK_MS).unref();

  const read = createMessageReader((message) => !isLog(message) && onMessage(message));
  program.stdout.on("data", (chunk: Buffer) => {
    try {
      if (!ended) read(chunk);
    } catch (error) {
      end(error instanceof Error ? error.message : String(error));
    }
  });
  program.stdin.on("drain", onDrain);
  program.on("error", (error) => end(`It could not be started (${error.message})`));
  program.on("exit", (code, signal) => end(`It ended with ${code === null ? String(signal) : `code ${code}`}`));

  return {
    pid: program.pid,
    send: (message) => program.stdin.write(frameMessage(message)),
    pause: () => void program.stdout.pause(),
    resume: () => void program.stdout.resume(),
    kill: () => end("It was stopped"),
  };
}

// Limits that the runtimes of the usual servers keep themselves. They collect garbage before the check above ends them.
function memoryVariables(bytes: number): Record<string, string> {
  const mib = Math.floor((bytes / 1024 / 1024) * 0.8);
  return { GOMEMLIMIT: `${mib}MiB`, NODE_OPTIONS: `--max-old-space-size=${mib}` };
}

// Log messages are for developers of servers, and some servers write several per key press.
const LOG = /^\{"jsonrpc":"2\.0","method":"(window\/logMessage|\$\/logTrace|telemetry\/event)"/;
const isLog = (message: Buffer): boolean => LOG.test(message.toString("latin1", 0, 80));
