import { readlinkSync } from "node:fs";
import { constants } from "node:os";
import type { Terminal, TerminalFromClient, TerminalFromDaemon } from "@berth/contract/daemon.ts";
import type { WebSocket } from "ws";
import type { Pty, PtyOptions } from "./pty.ts";
import type { Ring } from "./ring.ts";
import { parseMessage } from "../http/sockets.ts";

// One terminal: a program on a PTY, the last of its output, and the browsers that look at it. Each browser is served
// from the ring at its own pace; whoever falls out of it is told to begin anew.
export interface LiveTerminal {
  describe(): Terminal;
  // Starts the program unless it runs or has ended.
  start(): void;
  attach(socket: WebSocket, offset: number | null): void;
  // Ends the program; the terminal stays with its last output.
  hangUp(): void;
  // Closes it for everybody.
  close(code: number): void;
  // The folder that the program is in now, or the last one known.
  workingFolder(): string;
}

export interface TerminalOptions {
  id: string;
  title: string;
  createdAtMs: number;
  cols: number;
  rows: number;
  cwd: string;
  ring: Ring;
  exit: Terminal["exit"];
  spawn: (options: Pick<PtyOptions, "cwd" | "cols" | "rows" | "output" | "exited">) => Pty;
  changed: () => void;
}

interface Client {
  socket: WebSocket;
  // Output up to here has been handed to the socket, and drawn where the client says so.
  sent: number;
  drawn: number | null;
  // Frames handed over whose sending is not finished.
  inFlight: number;
  // Buffers to send from, used again when sent: fresh ones would pile up faster than V8 collects them.
  frames: Buffer[];
  progressAtMs: number;
}

const FRAME_BYTES = 32 * 1024;
const MAX_FRAMES = 8;
const MAX_UNDRAWN = 1024 * 1024;
// The program is held back for a browser that is this far behind, but only while that browser makes progress.
const HOLD_BACK_BYTES = 512 * 1024;
const STALLED_MS = 1000;

export function createTerminal(options: TerminalOptions): LiveTerminal {
  const { ring } = options;
  const clients = new Set<Client>();
  let { cols, rows, cwd, exit } = options;
  let pty: Pty | null = null;
  let flushing: NodeJS.Immediate | null = null;
  let holding: NodeJS.Timeout | null = null;

  return { describe, start, attach, hangUp, close, workingFolder };

  function describe(): Terminal {
    const { id, title, createdAtMs } = options;
    return { id, title, cols, rows, createdAtMs, exit, offset: ring.end };
  }

  function start(): void {
    if (!pty && !exit) pty = options.spawn({ cwd, cols, rows, output, exited });
  }

  function exited(code: number | null, signal: number | null): void {
    exit = { code, signal: signal === null ? null : signalName(signal) };
    pty = null;
    for (const client of clients) flush(client);
    broadcast({ type: "exit", ...exit });
    options.changed();
  }

  function output(chunk: Uint8Array): void {
    ring.write(chunk);
    // A PTY gives at most 4 KiB at a time; what comes in one turn of the event loop goes out together.
    flushing ??= setImmediate(flushAll);
  }

  function flushAll(): void {
    flushing = null;
    for (const client of clients) flush(client);
    holdBack();
  }

  // Pauses the program while a browser that makes progress is far behind, until it has caught up or stalls.
  function holdBack(): void {
    const now = Date.now();
    const behind = [...clients].some((client) => ring.end - client.sent > HOLD_BACK_BYTES && now - client.progressAtMs < STALLED_MS);
    if (!behind) return release();
    if (holding || !pty) return;
    pty.pause();
    holding = setTimeout(release, STALLED_MS);
  }

  function release(): void {
    if (!holding) return;
    clearTimeout(holding);
    holding = null;
    pty?.resume();
  }

  function attach(socket: WebSocket, offset: number | null): void {
    const known = offset !== null && offset >= ring.start && offset <= ring.end;
    const client: Client = {
      socket,
      sent: known ? offset : beginning(ring),
      drawn: null,
      inFlight: 0,
      frames: [],
      progressAtMs: Date.now(),
    };
    clients.add(client);
    send(client, { type: "attached", terminal: describe(), offset: client.sent, reset: !known });
    flush(client);
    if (exit) send(client, { type: "exit", ...exit });
    socket.on("close", () => {
      clients.delete(client);
      if (holding) holdBack();
    });
    socket.on("message", (data: Buffer, isBinary: boolean) => {
      if (isBinary) type(client, data);
      else obey(client, parseMessage(data) as TerminalFromClient | null);
    });
  }

  function type({ socket }: Client, data: Buffer): void {
    if (!pty || pty.write(data)) return;
    socket.pause();
    pty.drained(() => socket.resume());
  }

  function obey(client: Client, message: TerminalFromClient | null): void {
    if (message?.type === "resize" && isSize(message.cols) && isSize(message.rows)) return resize(message.cols, message.rows);
    if (message?.type === "drawn" && Number.isSafeInteger(message.offset)) {
      client.drawn = Math.min(message.offset, client.sent);
      client.progressAtMs = Date.now();
      flush(client);
    }
  }

  function resize(newCols: number, newRows: number): void {
    if (newCols === cols && newRows === rows) return;
    cols = newCols;
    rows = newRows;
    pty?.resize(cols, rows);
    broadcast({ type: "resized", cols, rows });
  }

  // Sends what the client has not got yet, as far as it keeps up. One that fell out of the ring begins anew, but only
  // once it takes something again.
  function flush(client: Client): void {
    while (client.sent < ring.end && client.inFlight < MAX_FRAMES && (client.drawn === null || client.sent - client.drawn < MAX_UNDRAWN)) {
      if (client.sent < ring.start) startAnew(client);
      const frame = client.frames.pop() ?? Buffer.allocUnsafe(FRAME_BYTES);
      const size = ring.readInto(frame, client.sent);
      client.sent += size;
      client.inFlight++;
      client.socket.send(frame.subarray(0, size), () => {
        client.frames.push(frame);
        client.inFlight--;
        client.progressAtMs = Date.now();
        if (clients.has(client)) flush(client);
        if (holding) holdBack();
      });
    }
  }

  function startAnew(client: Client): void {
    client.sent = beginning(ring);
    client.drawn = client.drawn === null ? null : client.sent;
    send(client, { type: "attached", terminal: describe(), offset: client.sent, reset: true });
  }

  function send(client: Client, message: TerminalFromDaemon): void {
    client.socket.send(JSON.stringify(message));
  }

  function broadcast(message: TerminalFromDaemon): void {
    for (const client of clients) send(client, message);
  }

  function hangUp(): void {
    pty?.kill("SIGHUP");
  }

  function close(code: number): void {
    for (const client of clients) client.socket.close(code);
    const ending = pty;
    if (!ending) return;
    ending.kill("SIGHUP");
    // A program that ignores the hang-up.
    setTimeout(() => ending.kill("SIGKILL"), 2000).unref();
  }

  function workingFolder(): string {
    try {
      if (pty) cwd = readlinkSync(`/proc/${pty.pid}/cwd`);
    } catch {
      // It has just ended, or there is no /proc here.
    }
    return cwd;
  }
}

export const isSize = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 1000;

// Where a client that knows nothing begins: after the first line break, so that nothing starts in the middle of a
// character or a colour.
function beginning(ring: Ring): number {
  if (ring.start === 0) return 0;
  const lineBreak = ring.read(ring.start, 4096).indexOf(10);
  return lineBreak === -1 ? ring.start : ring.start + lineBreak + 1;
}

const signalName = (signal: number) => Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? String(signal);
