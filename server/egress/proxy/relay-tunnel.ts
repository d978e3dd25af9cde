import type { Duplex } from "node:stream";

// Forwards bytes in both directions. Either direction may end first; if one socket fails, both are closed. Both need error listeners.
//
// `pipeline` of node:stream does the same, but closing a tunnel takes it a fifth of a millisecond, and a sandbox can close
// hundreds at once.
export function relayTunnel(inner: Duplex, outer: Duplex): void {
  relayOneWay(inner, outer);
  relayOneWay(outer, inner);
}

export function relayOneWay(from: Duplex, to: Duplex): void {
  from.pipe(to);
  from.once("close", () => void (hasEndedCleanly(from) || to.destroy()));
}

// Then the other socket has received an end, and may still be sending the last bytes.
const hasEndedCleanly = (socket: Duplex) => socket.readableEnded && socket.writableFinished && !socket.errored;
