import { readlinkSync } from "node:fs";
import type { Terminal, TerminalFromClient, TerminalFromDaemon } from "@berth/contract/daemon.ts";
import type { WebSocket } from "ws";
import { parseMessage } from "../http/sockets.ts";
import { watchForeground } from "./foreground-watch.ts";
import { uptimeMs } from "../io/uptime.ts";
import { isSize, type Pty, type PtyOptions } from "../programs/pty/pty.ts";
import { signalName } from "../../native/signal-name.ts";
import type { StartedProgram } from "../program-list/started-program.ts";
import type { Ring } from "./ring.ts";

// One terminal: a program on a PTY, the last part of its output, and the browsers that show it. Each browser reads from the
// ring at its own pace. A browser that falls behind the ring's start is reset.
export interface LiveTerminal {
  describe(): Terminal;
  // No-op if the program is running or has exited.
  start(): void;
  attach(socket: WebSocket, offset: number | null): void;
  // A client that only sees the output. It types nothing, has no size, and its pace does not hold back the program.
  attachViewer(socket: WebSocket, offset: number | null): void;
  // Its program; null if none runs.
  program(): StartedProgram | null;
  // Ends the program, unless it ignores that, and keeps the terminal with its output.
  hangUp(): void;
  // Ends the program and closes all connections with this WebSocket code.
  close(code: number): void;
  // The program's current folder, or the last known one.
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
  spawn: (options: Pick<PtyOptions, "cwd" | "cols" | "rows" | "onOutput" | "onExit">) => Pty;
  onExit: () => void;
  // Another program is in the foreground.
  onProgram: () => void;
}

interface Client {
  socket: WebSocket;
  // Output up to `sent` has been handed to the socket. Output up to `drawn` is on the screen, if the client reports that.
  sent: number;
  drawn: number | null;
  // Frames that the socket has not finished sending.
  inFlight: number;
  // Reusable send buffers: new ones would accumulate faster than V8 collects them.
  frames: Buffer[];
  progressAtMs: number;
  isViewer: boolean;
  // The size of its screen, and when a person last used the terminal there.
  size: { cols: number; rows: number; usedAtMs: number } | null;
}

const FRAME_BYTES = 32 * 1024;
const MAX_FRAMES = 8;
const MAX_UNDRAWN = 1024 * 1024;
// Pause the program when a browser is this far behind, but only while that browser makes progress.
const HOLD_BACK_BYTES = 512 * 1024;
const STALLED_MS = 1000;
// How much of the current line stays when a terminal is cleared.
const MAX_LINE_BYTES = 4096;

export function createTerminal(options: TerminalOptions): LiveTerminal {
  const { ring } = options;
  const clients = new Set<Client>();
  let { cols, rows, cwd, exit } = options;
  let pty: Pty | null = null;
  let flushing: NodeJS.Immediate | null = null;
  let holding: NodeJS.Timeout | null = null;
  const foreground = watchForeground({ pid: () => pty?.pid, onChange: options.onProgram });
  // The start of the current line when the output was last cleared.
  let clearedAt = 0;

  return { describe, start, attach, attachViewer, program: startedProgram, hangUp, close, workingFolder };

  function describe(): Terminal {
    const { id, title, createdAtMs } = options;
    return { id, title, program: foreground.program, cols, rows, createdAtMs, exit, offset: ring.end };
  }

  function start(): void {
    if (!pty && !exit) pty = options.spawn({ cwd, cols, rows, onOutput, onExit });
  }

  function onExit(code: number | null, signal: number | null): void {
    exit = { code, signal: signal === null ? null : signalName(signal) };
    pty = null;
    foreground.noteExit();
    for (const client of clients) flush(client);
    broadcast({ type: "exit", ...exit });
    options.onExit();
  }

  function onOutput(chunk: Uint8Array): void {
    ring.write(chunk);
    // A PTY delivers at most 4 KiB per read. Output of one turn of the event loop is sent together.
    flushing ??= setImmediate(flushAll);
    foreground.noteOutput();
  }

  function flushAll(): void {
    flushing = null;
    for (const client of clients) flush(client);
    holdBack();
  }

  // Applies back-pressure: pauses the program until a browser that is far behind has caught up, or has stalled.
  function holdBack(): void {
    const now = Date.now();
    const behind = [...clients].some(
      (client) => !client.isViewer && ring.end - client.sent > HOLD_BACK_BYTES && now - client.progressAtMs < STALLED_MS,
    );
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
    const client = addClient(socket, offset, { isViewer: false });
    socket.on("message", (data: Buffer, isBinary: boolean) => {
      if (isBinary) writeInput(client, data);
      else handleMessage(client, parseMessage(data) as TerminalFromClient | null);
    });
  }

  function attachViewer(socket: WebSocket, offset: number | null): void {
    const client = addClient(socket, offset, { isViewer: true });
    socket.on("message", (data: Buffer, isBinary: boolean) => {
      if (!isBinary) handleDrawn(client, parseMessage(data) as TerminalFromClient | null);
    });
  }

  function addClient(socket: WebSocket, offset: number | null, { isViewer }: Pick<Client, "isViewer">): Client {
    const known = offset !== null && offset >= ring.start && offset <= ring.end;
    const client: Client = {
      socket,
      sent: known ? offset : firstLineStart(ring, clearedAt),
      drawn: null,
      inFlight: 0,
      frames: [],
      progressAtMs: Date.now(),
      isViewer,
      size: null,
    };
    clients.add(client);
    send(client, { type: "attached", terminal: describe(), offset: client.sent, reset: !known });
    flush(client);
    if (exit) send(client, { type: "exit", ...exit });
    socket.on("close", () => {
      clients.delete(client);
      if (holding) holdBack();
      applySize();
    });
    return client;
  }

  function writeInput({ socket }: Client, data: Buffer): void {
    if (!pty || pty.write(data)) return;
    socket.pause();
    pty.drained(() => socket.resume());
  }

  function handleMessage(client: Client, message: TerminalFromClient | null): void {
    if (message?.type === "resize" && isSize(message.cols) && isSize(message.rows)) {
      client.size = { cols: message.cols, rows: message.rows, usedAtMs: usedAt(message.unusedMs) };
      return applySize();
    }
    if (message?.type === "clear") return clear(client);
    handleDrawn(client, message);
  }

  function handleDrawn(client: Client, message: TerminalFromClient | null): void {
    if (message?.type === "drawn" && Number.isSafeInteger(message.offset)) {
      client.drawn = Math.min(message.offset, client.sent);
      client.progressAtMs = Date.now();
      flush(client);
    }
  }

  function clear(by: Client): void {
    const tailStart = Math.max(ring.start, ring.end - MAX_LINE_BYTES);
    clearedAt = tailStart + ring.read(tailStart, MAX_LINE_BYTES).lastIndexOf(10) + 1;
    ring.dropBefore(clearedAt);
    for (const client of clients) if (client !== by) send(client, { type: "cleared" });
  }

  // Of clients that were never used, the first one decides: a second browser that only looks must not resize what others see.
  function applySize(): void {
    const sizes = [...clients].flatMap(({ size }) => size ?? []);
    const latest = sizes.toSorted((a, b) => (a.usedAtMs === b.usedAtMs ? 0 : b.usedAtMs - a.usedAtMs))[0];
    if (!latest || (latest.cols === cols && latest.rows === rows)) return;
    ({ cols, rows } = latest);
    pty?.resize(cols, rows);
    broadcast({ type: "resized", cols, rows });
  }

  // Sends new output as far as the client keeps up. A client that fell behind the ring's start is reset, but only once it
  // accepts data again.
  function flush(client: Client): void {
    while (client.sent < ring.end && client.inFlight < MAX_FRAMES && (client.drawn === null || client.sent - client.drawn < MAX_UNDRAWN)) {
      if (client.sent < ring.start) reset(client);
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

  function reset(client: Client): void {
    client.sent = firstLineStart(ring, clearedAt);
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

  function startedProgram(): StartedProgram | null {
    return pty && { id: options.id, kind: "terminal", title: options.title, pid: pty.pid, stop };
  }

  function close(code: number): void {
    for (const client of clients) client.socket.close(code);
    stop();
  }

  // A shell ignores SIGTERM. It passes SIGHUP on to what runs in it.
  function stop(): void {
    const ending = pty;
    if (!ending) return;
    ending.kill("SIGHUP");
    // The program may ignore SIGHUP.
    setTimeout(() => ending.kill("SIGKILL"), 2000).unref();
  }

  function workingFolder(): string {
    try {
      if (pty) cwd = readlinkSync(`/proc/${pty.pid}/cwd`);
    } catch {
      // It has just exited, or the system has no /proc.
    }
    return cwd;
  }
}

function usedAt(unusedMs: unknown = 0): number {
  return typeof unusedMs === "number" ? uptimeMs() - Math.max(0, unusedMs) : -Infinity;
}

// Where a client without an offset starts: at the start of a line, so that its output does not start inside a character
// or an escape sequence.
function firstLineStart(ring: Ring, clearedAt: number): number {
  if (ring.start === 0 || ring.start === clearedAt) return ring.start;
  const lineBreak = ring.read(ring.start, 4096).indexOf(10);
  return lineBreak === -1 ? ring.start : ring.start + lineBreak + 1;
}
