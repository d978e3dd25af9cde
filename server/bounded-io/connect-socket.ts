import { connect, type NetConnectOpts, type Socket } from "node:net";

// Opens a connection, or rejects when it fails or the signal aborts first, with the signal's reason. The socket then has no
// error listener: the caller adds its own before the next turn of the event loop.
export function connectSocket(options: NetConnectOpts, signal: AbortSignal): Promise<Socket> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect(options);
  const onAbort = () => fail(signal.reason as Error);
  const onConnect = () => {
    stopListening();
    resolve(socket);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  socket.once("error", fail).once("connect", onConnect);
  return promise;

  function fail(error: Error): void {
    stopListening();
    socket.destroy();
    reject(error);
  }

  function stopListening(): void {
    signal.removeEventListener("abort", onAbort);
    socket.off("error", fail).off("connect", onConnect);
  }
}
