import { requireNative, resolveNative } from "../../../native/native-package.ts";
import { preferForOomKill } from "../system/oom-score.ts";
import { signalGroup, stopGroup } from "../system/process-group.ts";
import { createPtyInput } from "./pty-input.ts";

// A program on a pseudo-terminal. This uses only the native part of node-pty. Its JavaScript part allocates a buffer for
// every read, and the daemon grows by hundreds of megabytes before V8 collects them. Here one buffer serves all reads of a
// terminal.
export interface Pty {
  readonly pid: number;
  // Returns false when the program does not read its input: wait for `drained` before writing more.
  write(bytes: Uint8Array): boolean;
  drained(callback: () => void): void;
  resize(cols: number, rows: number): void;
  pause(): void;
  resume(): void;
  // These are no-ops if the program has exited.
  kill(signal: NodeJS.Signals): void;
  stop(): void;
}

export interface PtyOptions {
  command: string[];
  cwd: string;
  cols: number;
  rows: number;
  env: Record<string, string>;
  // The bytes are only valid during the call.
  onOutput: (bytes: Uint8Array) => void;
  // Called once, after all output.
  onExit: (code: number | null, signal: number | null) => void;
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
    onExit: (code: number, signal: number) => void,
  ) => { fd: number; pid: number };
  resize: (fd: number, cols: number, rows: number) => void;
}

const READ_BYTES = 64 * 1024;
// After the program has exited, wait this long for more output from processes that it left on the terminal.
const LINGER_MS = 100;
const MAX_LINGER_MS = 2000;

let native: Native | undefined;
let helperPath = "";

export function openPty({ command, cwd, cols, rows, env, onOutput, onExit }: PtyOptions): Pty {
  const { fork, resize } = (native ??= loadNative());
  const { ReadStream } = process.getBuiltinModule("node:tty");
  const [file = "/bin/sh", ...args] = command;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  let exit: [code: number | null, signal: number | null] | null = null;
  let closed = false;

  const { fd, pid } = fork(file, args, variables, cwd, cols, rows, -1, -1, true, helperPath, (code, signal) => {
    exit = signal ? [null, signal] : [code, null];
    if (closed) onExit(...exit);
    else linger();
  });

  preferForOomKill(pid);

  const input = createPtyInput(fd);
  const stream = new ReadStream(fd, { onread: { buffer: Buffer.allocUnsafe(READ_BYTES), callback: received } } as object);
  // Linux reports the end of a terminal as an I/O error (EIO).
  stream.on("error", () => input.close());
  stream.on("end", () => input.close());
  stream.on("close", () => {
    input.close();
    closed = true;
    if (exit) onExit(...exit);
  });
  stream.resume();

  let lastReadMs = Date.now();
  function received(size: number, buffer: Uint8Array): boolean {
    lastReadMs = Date.now();
    onOutput(buffer.subarray(0, size));
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
    // On a busy machine the time may pass before anything is read. setImmediate lets pending reads happen before `check`.
    const timer = setInterval(() => setImmediate(check), LINGER_MS / 2);
  }

  return {
    pid,
    write: input.write,
    drained: input.drained,
    resize(newCols, newRows) {
      try {
        // After the exit the descriptor may already belong to another file.
        if (!exit && !closed) resize(fd, newCols, newRows);
      } catch {
        // The program has exited, but the exit callback has not run yet.
      }
    },
    pause: () => void (exit ?? stream.pause()),
    resume: () => void stream.resume(),
    kill(signal) {
      if (!exit) signalGroup(pid, signal);
    },
    stop() {
      if (!exit) stopGroup(pid);
    },
  };
}

function loadNative(): Native {
  const name = `@lydell/node-pty-${process.platform}-${process.arch}`;
  if (process.platform === "darwin") helperPath = resolveNative(`${name}/spawn-helper`);
  return requireNative(`${name}/pty.node`) as Native;
}

// Of a terminal, in characters.
export const isSize = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 1000;
