import { CLOSE } from "@berth/contract/daemon.ts";
import { createBackoff, type Backoff } from "./backoff.ts";

export interface SocketOptions {
  // Called before every attempt, so that the URL can contain the offset that the last connection reached.
  url: () => string;
  onOpen?: () => void;
  onText: (text: string) => void;
  onBytes?: (bytes: Uint8Array) => void;
  // `retrying` is false if the close code means that a retry is useless until `retryNow` is called.
  onDisconnected?: (closed: { code: number; retrying: boolean }) => void;
  backoff?: Backoff;
}

export interface ReconnectingSocket extends Disposable {
  // Returns false if the socket is not open. The caller then keeps the data.
  send: (data: string | Uint8Array) => boolean;
  // Connects at once instead of waiting. An attempt that is already under way may have been too early, so if it is refused,
  // another one follows.
  retryNow: () => void;
  // Replaces a socket that looks open. After sleep or a change of network it can be dead without a close event.
  reconnect: () => void;
}

// Close codes after which a retry would fail until something else changes. `retryNow` signals that change.
const closedUntilRetryNow: ReadonlySet<number> = new Set([
  CLOSE.terminalGone,
  CLOSE.noLanguageServer,
  CLOSE.languageServerIdle,
  CLOSE.languageServerFailed,
  CLOSE.sessionPaused,
  CLOSE.sessionDestroyed,
  CLOSE.unauthorized,
  CLOSE.viewOnly,
]);

// A WebSocket that reconnects by itself until it is disposed.
export function connectSocket(options: SocketOptions): ReconnectingSocket {
  const backoff = options.backoff ?? createBackoff();
  let socket: WebSocket | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let disposed = false;
  let retryRequested = false;

  connect();
  return {
    send(data) {
      if (socket?.readyState !== WebSocket.OPEN) return false;
      socket.send(typeof data === "string" ? data : new Uint8Array(data));
      return true;
    },
    retryNow() {
      if (disposed) return;
      backoff.reset();
      retryRequested = true;
      if (socket !== null) return;
      clearTimeout(timer);
      connect();
    },
    reconnect() {
      if (socket?.readyState !== WebSocket.OPEN) return;
      backoff.reset();
      abandon(socket);
      connect();
    },
    [Symbol.dispose]() {
      disposed = true;
      clearTimeout(timer);
      socket?.close();
    },
  };

  // Does not wait for the close event, which a dead connection may send minutes later.
  function abandon(old: WebSocket): void {
    socket = null;
    old.close();
  }

  function connect(): void {
    const current = new WebSocket(options.url());
    socket = current;
    retryRequested = false;
    current.binaryType = "arraybuffer";
    // A connection attempt into a dead network can hang for minutes before the browser gives up.
    const opening = setTimeout(() => current.close(), 10_000);
    current.addEventListener("open", () => {
      clearTimeout(opening);
      if (socket !== current) return;
      backoff.reset();
      options.onOpen?.();
    });
    current.addEventListener("message", ({ data }) => {
      if (disposed || socket !== current) return;
      if (typeof data === "string") options.onText(data);
      else options.onBytes?.(new Uint8Array(data as ArrayBuffer));
    });
    current.addEventListener("close", ({ code }) => {
      clearTimeout(opening);
      if (disposed || socket !== current) return;
      socket = null;
      const retrying = retryRequested || !closedUntilRetryNow.has(code);
      if (retrying) timer = setTimeout(connect, backoff.nextMs());
      options.onDisconnected?.({ code, retrying });
    });
  }
}
