import type { Writable } from "node:stream";
import type { Spawned } from "../../native/spawn/child.ts";
import { spawn } from "../../native/spawn/spawn.ts";
import { preferForOomKill } from "./system/oom-score.ts";
import { signalGroup, stopGroup } from "./system/process-group.ts";

// A program that the daemon has started. It leads a process group, so that ending it also ends everything it started.
export type Program = Spawned;
export type ProgramWithInput = Program & { readonly stdin: Writable };

interface ProgramOptions {
  cwd: string;
  env: Record<string, string>;
}

const running = new Set<Program>();
process.on("exit", () => running.forEach(killProgram));

export function startProgram(words: string[], options: ProgramOptions): ProgramWithInput {
  const program = spawn(words, { ...options, stdin: "pipe" }) as ProgramWithInput;
  // It may end before it has read its input.
  program.stdin.on("error", () => {});
  note(program);
  return program;
}

// Its input is /dev/null, which costs less than a pipe, and programs such as `rg` read a pipe in place of the files.
export function startWithoutInput(words: string[], options: ProgramOptions): Program {
  const program = spawn(words, { ...options, stdin: "ignore" });
  note(program);
  return program;
}

function note(program: Program): void {
  preferForOomKill(program.pid);
  running.add(program);
  program.once("exit", () => running.delete(program));
  program.once("error", () => running.delete(program));
}

// All that run, oldest first.
export const runningPrograms = (): Program[] => [...running];

export const hasExited = ({ exitCode, signalCode }: Program): boolean => exitCode !== null || signalCode !== null;

// No-op if the program has exited: its number may belong to another process.
export function signalProgram(program: Program, signal: NodeJS.Signals): void {
  if (program.pid !== undefined && !hasExited(program)) signalGroup(program.pid, signal);
}

export const killProgram = (program: Program): void => signalProgram(program, "SIGKILL");

// No-op if the program has exited.
export function stopProgram(program: Program): void {
  if (program.pid !== undefined && !hasExited(program)) stopGroup(program.pid);
}

const LINGER_MS = 100;

// Calls back when the program has exited and its output has been read. Processes that it left in the background keep running and may
// keep the output open: it is over when nothing came for a while, unless the reader has paused it.
export function onceOver(program: Program, callback: () => void): void {
  program.once("exit", () => {
    let hasNews = false;
    const timer = setTimeout(() => {
      hasNews = false;
      // On a busy machine, output that arrived long ago is read only after the timer.
      setImmediate(() => (hasNews || program.stdout.isPaused() ? timer.refresh() : over()));
    }, LINGER_MS);
    const note = () => {
      hasNews = true;
      timer.refresh();
    };
    const over = () => {
      clearTimeout(timer);
      program.off("close", over);
      program.stdout.destroy();
      program.stderr.destroy();
      callback();
    };
    program.stdout.on("data", note);
    program.stderr.on("data", note);
    program.once("close", over);
  });
}
