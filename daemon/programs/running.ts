import { once } from "node:events";
import type { ProcessStream } from "@berth/contract/daemon/processes.ts";
import { AppError } from "@berth/contract/errors.ts";
import { systemCode } from "../http/errors.ts";
import { openPty } from "./pty/pty.ts";
import { onceOver, type Program, signalProgram, startProgram, startWithoutInput, stopProgram } from "./program.ts";
import { startFailure } from "./start-failure.ts";
import { signalName } from "../../native/signal-name.ts";

// A program with pipes or with a pseudo-terminal.
export interface Running {
  readonly pid: number;
  // False when its input has ended.
  readonly takesInput: boolean;
  // Returns false when the program does not read its input: wait for `drained` before writing more.
  write(bytes: Uint8Array): boolean;
  drained(callback: () => void): void;
  closeInput(): void;
  // Stop and continue to read its output, which holds back the program.
  pause(): void;
  resume(): void;
  // Closes its output: a program that still writes ends, unless it has a pseudo-terminal or ignores the signal.
  closeOutput(): void;
  // No-op without a pseudo-terminal.
  resize(cols: number, rows: number): void;
  // No-op if it has exited. Reaches everything that the program has started.
  signal(signal: NodeJS.Signals): void;
  // No-op if it has exited. Ends it and everything that it has started, after a while by force.
  stop(): void;
}

export interface RunningOptions {
  words: string[];
  cwd: string;
  env: Record<string, string>;
  pty: { cols: number; rows: number } | null;
  // Without a pseudo-terminal: false if it gets no input.
  hasInput: boolean;
  // The bytes are only valid during the call.
  onOutput: (stream: ProcessStream, bytes: Uint8Array) => void;
  // Called once, after all output.
  onExit: (code: number | null, signal: string | null) => void;
}

// Throws an error of the contract if the program cannot be started.
export async function startRunning(options: RunningOptions): Promise<Running> {
  return options.pty ? startOnPty(options, options.pty) : await startWithPipes(options);
}

const END_OF_INPUT = Buffer.from([4]);

function startOnPty({ words, cwd, env, onOutput, onExit }: RunningOptions, size: { cols: number; rows: number }): Running {
  const pty = openPty({
    ...size,
    command: words,
    cwd,
    env: { TERM: "xterm-256color", COLORTERM: "truecolor", ...env },
    onOutput: (bytes) => onOutput("stdout", bytes),
    onExit: (code, signal) => onExit(code, signal === null ? null : signalName(signal)),
  });
  return {
    ...pty,
    takesInput: true,
    closeInput: () => void pty.write(END_OF_INPUT),
    closeOutput: pty.resume,
    signal: pty.kill,
    stop: pty.stop,
  };
}

async function startWithPipes({ words, cwd, env, hasInput, onOutput, onExit }: RunningOptions): Promise<Running> {
  const program: Program = hasInput ? startProgram(words, { cwd, env }) : startWithoutInput(words, { cwd, env });
  for (const stream of ["stdout", "stderr"] as const)
    program[stream].on("data", (chunk: Buffer<ArrayBuffer>) => {
      onOutput(stream, chunk);
      // Frees the memory now. V8 collects buffers late, because it sees only their small heads.
      if (chunk.length === chunk.buffer.byteLength) chunk.buffer.transfer(0);
    });
  onceOver(program, () => onExit(program.exitCode, program.signalCode));
  if (program.pid === undefined) {
    const [error] = (await once(program, "error")) as [Error];
    throw new AppError(systemCode(error) === "EAGAIN" ? "busy" : "bad_request", { message: startFailure(error), cause: error });
  }
  const { stdin } = program;
  return {
    pid: program.pid,
    get takesInput() {
      return stdin?.writable ?? false;
    },
    write: (bytes) => stdin === null || stdin.destroyed || stdin.write(bytes),
    drained(callback) {
      const done = () => {
        stdin?.off("drain", done).off("close", done);
        callback();
      };
      if (stdin) stdin.on("drain", done).on("close", done);
      else callback();
    },
    closeInput: () => void stdin?.end(),
    pause() {
      program.stdout.pause();
      program.stderr.pause();
    },
    resume() {
      program.stdout.resume();
      program.stderr.resume();
    },
    closeOutput() {
      program.stdout.destroy();
      program.stderr.destroy();
    },
    resize: () => {},
    signal: (signal) => signalProgram(program, signal),
    stop: () => stopProgram(program),
  };
}
