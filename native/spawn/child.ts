import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { Socket } from "node:net";
import { Readable, Writable } from "node:stream";
import { getSystemErrorName } from "node:util";
import { signalName } from "../signal-name.ts";
import type { CLibrary, SystemFailure } from "./c-library.ts";

// The part of Node's ChildProcess that is used here.
export interface Spawned extends EventEmitter<Events>, Streams {
  // undefined if it could not be started.
  readonly pid: number | undefined;
  readonly exitCode: number | null;
  readonly signalCode: NodeJS.Signals | null;
  readonly spawnargs: string[];
}

interface Events {
  error: [error: NodeJS.ErrnoException];
  exit: End;
  // It has ended, and so has its output.
  close: End;
}

type End = [code: number | null, signal: NodeJS.Signals | null];

interface Streams {
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

// null for /dev/null.
interface Descriptors {
  stdin: number | null;
  stdout: number | null;
  stderr: number | null;
}

// Callbacks of children that have not been reaped yet.
const children = new Map<number, (status: number) => void>();
let listensTo: CLibrary | undefined;

// Starts a child with `launch`, which returns its number, and watches its end. `open` takes over our ends of its pipes.
export function watchChild(library: CLibrary, words: string[], launch: () => number): { open(descriptors: Descriptors): Spawned } {
  if (listensTo !== library) library.onChildEnd(() => reapChildren(library));
  listensTo = library;
  const pid = launch();
  return {
    open({ stdin, stdout, stderr }) {
      const streams = { stdin: stdin === null ? null : openInput(stdin), stdout: openOutput(stdout), stderr: openOutput(stderr) };
      const child = Object.assign(new EventEmitter<Events>(), emptyChild(pid, words, streams));
      const outputs = [streams.stdout, streams.stderr].filter((stream) => stream instanceof Socket);
      let left = 1 + outputs.length;
      const end = () => --left === 0 && child.emit("close", child.exitCode, child.signalCode);
      for (const stream of outputs) stream.once("close", end);
      children.set(pid, (status) => {
        const signal = status & 0x7f;
        if (signal === 0) child.exitCode = (status >> 8) & 0xff;
        else child.signalCode = signalName(signal);
        streams.stdin?.destroy();
        child.emit("exit", child.exitCode, child.signalCode);
        end();
      });
      return child;
    },
  };
}

function reapChildren(library: CLibrary): void {
  for (const [pid, end] of children) {
    const status = library.reap(pid);
    if (status === null) continue;
    children.delete(pid);
    end(status);
  }
}

// A program that could not be started. Emits the error in the next tick.
export function describeFailed(words: string[], { errno }: SystemFailure): Spawned {
  const code = getSystemErrorName(-errno);
  const error = Object.assign(new Error(`spawn ${words[0]} ${code}`), { code, errno: -errno, syscall: "spawn", path: words[0] });
  const streams = {
    stdin: new Writable({ write: (_chunk, _encoding, callback) => callback() }),
    stdout: Readable.from([]),
    stderr: Readable.from([]),
  };
  const child = Object.assign(new EventEmitter<Events>(), emptyChild(undefined, words, streams));
  process.nextTick(() => child.emit("error", error));
  return child;
}

const emptyChild = (pid: number | undefined, spawnargs: string[], streams: Streams) => ({
  pid,
  spawnargs,
  exitCode: null as number | null,
  signalCode: null as NodeJS.Signals | null,
  ...streams,
});

// A child of Node. It has no streams for what it ignores.
export const withStreams = (child: ChildProcess): Spawned =>
  Object.assign(child, { stdout: child.stdout ?? Readable.from([]), stderr: child.stderr ?? Readable.from([]) }) as unknown as Spawned;

const openOutput = (fd: number | null): Readable => (fd === null ? Readable.from([]) : new Socket({ fd, readable: true, writable: false }));

function openInput(fd: number): Writable {
  const input = new Socket({ fd, readable: false, writable: true });
  // A pipe ends when it is closed. Only a socket can be shut down before that.
  input._final = (callback) => callback();
  return input;
}
