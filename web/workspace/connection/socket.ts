import { CLOSE } from "@berth/contract/daemon.ts";
import { createBackoff, type Backoff } from "./backoff.ts";

export interface SocketOptions {
  // Asked before every attempt, so that the address can carry how far the last connection came.
  url: () => string;
  onOpen?: () => void;
  onText: (text: string) => void;
  onBytes?: (bytes: Uint8Array) => void;
  // The connection is gone. `retrying` is false when the close code says that trying again is of no use for now.
  onDown?: (down: { code: number; retrying: boolean }) => void;
  backoff?: Backoff;
  openTimeoutMs?: number;
}

export interface ReconnectingSocket extends Disposable {
  // False when the socket is not open: the caller keeps what it wanted to say.
  send: (data: string | Uint8Array) => boolean;
  // Tries at once instead of waiting: the network came back, or the session was resumed. An attempt under way that is refused
  // all the same may have been too early, so it is not the last one.
  prod: () => void;
  // Begins anew even when the socket seems open: a line that slept, or changed networks, can be dead without a word.
  renew: () => void;
}

// Close codes after which the same attempt would fail again until something else changes; `prod` says that it has.
const final: ReadonlySet<number> = new Set([CLOSE.terminalGone, CLOSE.sessionPaused, CLOSE.sessionDestroyed, CLOSE.unauthorized]);

// A WebSocket that comes back by itself until it is disposed.
export function connectSocket(options: SocketOptions): ReconnectingSocket {
  const backoff = options.backoff ?? createBackoff();
  let socket: WebSocket | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let disposed = false;
  let prodded = false;

  connect();
  return {
    send(data) {
      if (socket?.readyState !== WebSocket.OPEN) return false;
      socket.send(typeof data === "string" ? data : new Uint8Array(data));
      return true;
    },
    prod() {
      if (disposed) return;
      backoff.reset();
      prodded = true;
      if (socket !== null) return;
      clearTimeout(timer);
      connect();
    },
    renew() {
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

  // Nobody listens to it any more; a dead line may take minutes to say that it is closed.
  function abandon(old: WebSocket): void {
    socket = null;
    old.close();
  }

  function connect(): void {
    const current = new WebSocket(options.url());
    socket = current;
    prodded = false;
    current.binaryType = "arraybuffer";
    // A connection attempt into a dead network can hang for minutes before the browser gives up.
    const opening = setTimeout(() => current.close(), options.openTimeoutMs ?? 10_000);
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
      const retrying = prodded || !final.has(code);
      if (retrying) timer = setTimeout(connect, backoff.nextMs());
      options.onDown?.({ code, retrying });
    });
  }
}
