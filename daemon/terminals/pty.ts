import { createRequire } from "node:module";
import { join } from "node:path";
import { ReadStream } from "node:tty";
import { createPtyInput } from "./pty-input.ts";
import { preferForOomKill } from "../processes/oom-score.ts";

// A program on a pseudo-terminal. We use the native part of node-pty alone: its JavaScript allocates a buffer for every
// read, which grows the daemon by hundreds of megabytes before V8 sees a reason to collect them. Here one buffer serves
// all reads of a terminal.
export interface Pty {
  readonly pid: number;
  // False when the program does not read what is typed: wait for `drained` before more.
  write(bytes: Uint8Array): boolean;
  drained(then: () => void): void;
  resize(cols: number, rows: number): void;
  pause(): void;
  resume(): void;
  kill(signal: NodeJS.Signals): void;
}

export interface PtyOptions {
  command: string[];
  cwd: string;
  cols: number;
  rows: number;
  env: Record<string, string>;
  // The bytes are valid during the call only.
  output: (bytes: Uint8Array) => void;
  // Comes last, after all output.
  exited: (code: number | null, signal: number | null) => void;
}

interface Native {
  fork: (
    file: string,
    args: string[],
    env: string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helper: string,
    exited: (code: number, signal: number) => void,
  ) => { fd: number; pid: number };
  resize: (fd: number, cols: number, rows: number) => void;
}

const READ_BYTES = 64 * 1024;
// After the program's end: how long output may still come from what it left behind on the terminal.
const LINGER_MS = 100;
const MAX_LINGER_MS = 2000;

let native: Native | undefined;

export function openPty({ command, cwd, cols, rows, env, output, exited }: PtyOptions): Pty {
  native ??= loadNative();
  const { fork, resize } = native;
  const [file = "/bin/sh", ...args] = command;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  let exit: [code: number | null, signal: number | null] | null = null;
  let closed = false;

  const { fd, pid } = fork(file, args, variables, cwd, cols, rows, -1, -1, true, helperPath(), (code, signal) => {
    exit = signal ? [null, signal] : [code, null];
    if (closed) exited(...exit);
    else linger();
  });

  preferForOomKill(pid);

  const input = createPtyInput(fd);
  const stream = new ReadStream(fd, { onread: { buffer: Buffer.allocUnsafe(READ_BYTES), callback: received } } as object);
  // Linux reports the end of a terminal as an I/O error.
  stream.on("error", () => input.close());
  stream.on("end", () => input.close());
  stream.on("close", () => {
    input.close();
    closed = true;
    if (exit) exited(...exit);
  });
  stream.resume();

  let lastReadMs = Date.now();
  function received(size: number, buffer: Uint8Array): boolean {
    lastReadMs = Date.now();
    output(buffer.subarray(0, size));
    return true;
  }

  function linger(): void {
    stream.resume();
    const latestMs = Date.now() + MAX_LINGER_MS;
    lastReadMs = Date.now();
    const check = () => {
      const now = Date.now();
      if (!closed && now - lastReadMs <= LINGER_MS && now < latestMs) return;
      clearInterval(timer);
      input.close();
      stream.destroy();
    };
    // On a busy machine the time may be over before anything was read: what is waiting is read before `check` runs.
    const timer = setInterval(() => setImmediate(check), LINGER_MS / 2);
  }

  return {
    pid,
    write: input.write,
    drained: input.drained,
    resize(newCols, newRows) {
      try {
        // After the end there is nothing to resize; the descriptor may be another's by then.
        if (!exit && !closed) resize(fd, newCols, newRows);
      } catch {
        // The end has come but is not told of yet.
      }
    },
    pause: () => void (exit ?? stream.pause()),
    resume: () => void stream.resume(),
    kill(signal) {
      try {
        // The program leads its own session and group.
        if (!exit) process.kill(-pid, signal);
      } catch {
        // Gone in this very moment.
      }
    },
  };
}

// Where packages are found from: this folder, or the runtime folder once bundled.
const find = createRequire(join(import.meta.dirname, "daemon.cjs"));
const nativePackage = `@lydell/node-pty-${process.platform}-${process.arch}`;

const loadNative = () => find(`${nativePackage}/pty.node`) as Native;
const helperPath = () => (process.platform === "darwin" ? find.resolve(`${nativePackage}/spawn-helper`) : "");
