import { CLOSE, type TerminalFromClient, type TerminalFromDaemon } from "@berth/contract/daemon.ts";
import type { Backoff } from "../connection/backoff.ts";
import { connectSocket } from "../connection/socket.ts";

export interface TerminalSink {
  // Draws output. `drawn` is called when it is on the screen.
  write(bytes: Uint8Array, drawn: () => void): void;
  // Clears the screen and the scrollback, because output was lost before the next part.
  reset(): void;
  // The terminal has this size, whichever browser decided it.
  resized(cols: number, rows: number): void;
  // Another browser has cleared the terminal.
  cleared(): void;
}

export interface TerminalStreamOptions {
  url: (offset: number | null) => string;
  sink: TerminalSink;
  onExit?: (exit: { code: number | null; signal: string | null }) => void;
  // The terminal was closed, on this page or elsewhere.
  onGone?: () => void;
  backoff?: Backoff;
}

export interface TerminalStream extends Disposable {
  input(input: string | Uint8Array): void;
  // The size that fits this browser.
  resize(cols: number, rows: number): void;
  // A person uses the terminal in this browser, so the size that fits it applies.
  use(): void;
  // Forgets the output above the current line, in the sandbox too.
  clear(): void;
  retryNow: () => void;
  reconnect: () => void;
}

// How much input is kept while disconnected.
const MAX_PENDING_BYTES = 4096;
// How much output is drawn between two reports to the daemon, which stops sending if we fall behind.
const REPORT_EVERY_BYTES = 128 * 1024;
// How often a browser in use says so, if the terminal has its size already.
const REPORT_USE_EVERY_MS = 1000;

// The connection of one terminal. It counts the received output, so that after a disconnect it gets only the missing part.
export function openTerminalStream(options: TerminalStreamOptions): TerminalStream {
  const { sink } = options;
  const encoder = new TextEncoder();
  let offset: number | null = null;
  let drawn = 0;
  let reported = 0;
  // True from the daemon's `attached` message until a disconnect. Before that, input waits so that it stays in order.
  let attached = false;
  let pendingInput: number[] = [];
  let fitting: { cols: number; rows: number } | null = null;
  let current: { cols: number; rows: number } | null = null;
  let usedAtMs: number | null = null;
  let sizeSentAtMs = -Infinity;

  const socket = connectSocket({
    url: () => options.url(offset),
    onText: (text) => receive(JSON.parse(text) as TerminalFromDaemon),
    onBytes,
    onDisconnected: ({ code }) => {
      attached = false;
      if (code === CLOSE.terminalGone) options.onGone?.();
    },
    ...(options.backoff ? { backoff: options.backoff } : {}),
  });

  return {
    input(input) {
      const bytes = typeof input === "string" ? encoder.encode(input) : input;
      if (!attached || !socket.send(bytes)) pendingInput = [...pendingInput, ...bytes].slice(0, MAX_PENDING_BYTES);
    },
    resize(cols, rows) {
      fitting = { cols, rows };
      sendSize();
    },
    use() {
      usedAtMs = performance.now();
      const applies = fitting?.cols === current?.cols && fitting?.rows === current?.rows;
      if (!applies || usedAtMs - sizeSentAtMs >= REPORT_USE_EVERY_MS) sendSize();
    },
    clear: () => send({ type: "clear" }),
    retryNow: socket.retryNow,
    reconnect() {
      attached = false;
      socket.reconnect();
    },
    [Symbol.dispose]: () => socket[Symbol.dispose](),
  };

  function receive(message: TerminalFromDaemon): void {
    if (message.type === "exit") return options.onExit?.({ code: message.code, signal: message.signal });
    if (message.type === "resized") return resized(message);
    if (message.type === "cleared") return sink.cleared();
    resized(message.terminal);
    if (message.reset) sink.reset();
    offset = drawn = reported = message.offset;
    attached = true;
    sendSize();
    if (pendingInput.length > 0 && socket.send(new Uint8Array(pendingInput))) pendingInput = [];
  }

  function resized({ cols, rows }: { cols: number; rows: number }): void {
    current = { cols, rows };
    sink.resized(cols, rows);
  }

  function sendSize(): void {
    if (!attached || !fitting) return;
    sizeSentAtMs = performance.now();
    send({ type: "resize", ...fitting, unusedMs: usedAtMs === null ? null : Math.round(sizeSentAtMs - usedAtMs) });
  }

  function onBytes(bytes: Uint8Array): void {
    const end = (offset ?? 0) + bytes.byteLength;
    offset = end;
    sink.write(bytes, () => {
      drawn = Math.max(drawn, end);
      if (drawn - reported < REPORT_EVERY_BYTES) return;
      reported = drawn;
      send({ type: "drawn", offset: drawn });
    });
  }

  function send(message: TerminalFromClient): void {
    socket.send(JSON.stringify(message));
  }
}
