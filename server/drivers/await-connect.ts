import type { Socket } from "node:net";

// Resolves with the socket once it is connected. If it fails or the signal aborts, destroys the socket and rejects.
export function awaitConnect(socket: Socket, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", fail);
    socket.once("connect", () => {
      stopListening();
      resolve(socket);
    });

    function onAbort(): void {
      const { reason } = signal as { reason: unknown };
      fail(reason instanceof Error ? reason : new Error("aborted", { cause: reason }));
    }
    function fail(error: Error): void {
      stopListening();
      socket.destroy();
      reject(error);
    }
    function stopListening(): void {
      signal.removeEventListener("abort", onAbort);
      socket.removeListener("error", fail);
    }
  });
}
