import type { Duplex } from "node:stream";

// Forwards bytes in both directions. Either direction may end first; if one socket fails, both are closed. Both need error listeners.
//
// `pipeline` of node:stream does the same, but closing a tunnel takes it a fifth of a millisecond, and a sandbox can close
// hundreds at once.
export function relayTunnel(inner: Duplex, outer: Duplex): void {
  coupleCloses(inner, outer);
  inner.pipe(outer);
  outer.pipe(inner);
}

// The part of `relayTunnel` that closes both sockets if one of them fails. Undone by disposing.
export function coupleCloses(inner: Duplex, outer: Duplex): Disposable {
  const onInnerClose = () => void (hasEndedCleanly(inner) || outer.destroy());
  const onOuterClose = () => void (hasEndedCleanly(outer) || inner.destroy());
  inner.once("close", onInnerClose);
  outer.once("close", onOuterClose);
  return {
    [Symbol.dispose]() {
      inner.off("close", onInnerClose);
      outer.off("close", onOuterClose);
    },
  };
}

// Then the other socket has received an end, and may still be sending the last bytes.
const hasEndedCleanly = (socket: Duplex) => socket.readableEnded && socket.writableFinished && !socket.errored;
