import type { Socket } from "node:net";

export interface FirstLineLimits {
  maxBytes: number;
  timeoutMs: number;
}

// Reads the first line of a connection, without its end; the bytes after it stay in the socket. Calls back with null when the
// peer sends no whole line within the limits. A callback and not a promise: the next reader must be attached before the socket
// emits again.
export function readFirstLine(socket: Socket, { maxBytes, timeoutMs }: FirstLineLimits, done: (line: string | null) => void): void {
  let received = Buffer.alloc(0);
  const onEnd = () => finish(null);
  const timer = setTimeout(onEnd, timeoutMs);
  socket.on("readable", onReadable).on("end", onEnd).on("close", onEnd);

  function onReadable(): void {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    received = Buffer.concat([received, chunk]);
    const end = received.indexOf("\n");
    if (end < 0) {
      if (received.length > maxBytes) finish(null);
      return;
    }
    if (end + 1 < received.length) socket.unshift(received.subarray(end + 1));
    finish(received.subarray(0, end).toString("latin1"));
  }

  function finish(line: string | null): void {
    clearTimeout(timer);
    socket.off("readable", onReadable).off("end", onEnd).off("close", onEnd);
    done(line);
  }
}
