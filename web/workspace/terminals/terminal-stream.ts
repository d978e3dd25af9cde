import { CLOSE, type Terminal, type TerminalFromClient, type TerminalFromDaemon } from "@berth/contract/daemon.ts";
import type { Backoff } from "../connection/backoff.ts";
import { connectSocket } from "../connection/socket.ts";

export interface TerminalSink {
  // Output to draw; `drawn` is called when it is on the screen.
  write(bytes: Uint8Array, drawn: () => void): void;
  // What was shown is no longer continuous with what follows: clear the screen and the scrollback.
  reset(): void;
  resized(cols: number, rows: number): void;
}

export interface TerminalStreamOptions {
  url: (offset: number | null) => string;
  sink: TerminalSink;
  onAttached?: (terminal: Terminal) => void;
  onExit?: (exit: { code: number | null; signal: string | null }) => void;
  onDown?: () => void;
  // The terminal was closed, here or by somebody else.
  onGone?: () => void;
  backoff?: Backoff;
}

export interface TerminalStream extends Disposable {
  input(text: string): void;
  resize(cols: number, rows: number): void;
  prod: () => void;
  renew: () => void;
}

// How much typing is kept while the line is down, to be sent when it is back.
const MAX_WAITING_INPUT = 4096;
// How much output may be drawn before the daemon is told about it.
const DRAWN_STEP_BYTES = 128 * 1024;

// One terminal's connection. It counts the output it has seen, so that after a cut it gets just what it missed.
export function openTerminalStream(options: TerminalStreamOptions): TerminalStream {
  const { sink } = options;
  const encoder = new TextEncoder();
  let offset: number | null = null;
  let drawn = 0;
  let reported = 0;
  // True from the daemon's `attached` until the line is down. Before it, typing waits, so that it arrives in its order.
  let attached = false;
  let waiting = "";
  let size: { cols: number; rows: number } | null = null;

  const socket = connectSocket({
    url: () => options.url(offset),
    onText: (text) => receive(JSON.parse(text) as TerminalFromDaemon),
    onBytes,
    onDown: ({ code }) => {
      attached = false;
      if (code === CLOSE.terminalGone) options.onGone?.();
      else options.onDown?.();
    },
    ...(options.backoff ? { backoff: options.backoff } : {}),
  });

  return {
    input(text) {
      if (!attached || !socket.send(encoder.encode(text))) waiting = (waiting + text).slice(0, MAX_WAITING_INPUT);
    },
    resize(cols, rows) {
      size = { cols, rows };
      if (attached) say({ type: "resize", cols, rows });
    },
    prod: socket.prod,
    renew() {
      attached = false;
      socket.renew();
    },
    [Symbol.dispose]: () => socket[Symbol.dispose](),
  };

  function receive(message: TerminalFromDaemon): void {
    if (message.type === "exit") return options.onExit?.({ code: message.code, signal: message.signal });
    if (message.type === "resized") return sink.resized(message.cols, message.rows);
    if (message.reset) sink.reset();
    offset = drawn = reported = message.offset;
    attached = true;
    if (size) say({ type: "resize", ...size });
    if (waiting !== "" && socket.send(encoder.encode(waiting))) waiting = "";
    options.onAttached?.(message.terminal);
  }

  function onBytes(bytes: Uint8Array): void {
    const end = (offset ?? 0) + bytes.byteLength;
    offset = end;
    sink.write(bytes, () => {
      drawn = Math.max(drawn, end);
      if (drawn - reported < DRAWN_STEP_BYTES) return;
      reported = drawn;
      say({ type: "drawn", offset: drawn });
    });
  }

  function say(message: TerminalFromClient): void {
    socket.send(JSON.stringify(message));
  }
}
