import type { Duplex } from "node:stream";

const CLOSE_TIMEOUT_MS = 2_000;

// Half-closes the socket after the last bytes, discards what the peer still sends until it closes its side, and destroys the socket
// after a timeout. Without reading on, Node would not notice that the peer has closed a connection with unread bytes.
export function endSocket(socket: Duplex, lastBytes?: Buffer | string): void {
  socket.on("error", () => socket.destroy());
  socket.end(lastBytes);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS);
  socket.once("close", () => clearTimeout(timer));
}
