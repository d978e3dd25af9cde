import type { Server } from "node:http";
import type { Socket } from "node:net";

export interface ClosingConnections {
  // From now on, closes each connection as soon as it has no request, and every connection after `atMostMs`. Node itself keeps
  // those that were busy when the server started to close, and those that never sent a request: browsers open them in advance.
  begin(atMostMs: number): Disposable;
}

const LOOK_MS = 50;

export function watchConnections(server: Server): ClosingConnections {
  const connections = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });

  function closeUnused(): void {
    server.closeIdleConnections();
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  }

  return {
    begin(atMostMs) {
      const looking = setInterval(closeUnused, LOOK_MS);
      const ending = setTimeout(() => server.closeAllConnections(), atMostMs);
      closeUnused();
      return {
        [Symbol.dispose]() {
          clearInterval(looking);
          clearTimeout(ending);
        },
      };
    },
  };
}
