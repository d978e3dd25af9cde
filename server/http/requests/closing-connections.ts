import type { Server } from "node:http";
import type { Socket } from "node:net";
import { AppError } from "@berth/contract";
import { endSocketWithReply, toErrorReply } from "../../error-reply.ts";

export interface ClosingConnections {
  // From now on, closes each connection as soon as it has no request, and every connection after `atMostMs`. Node itself keeps
  // those that were busy when the server started to close, and those that never sent a request: browsers open them in advance.
  begin(atMostMs: number): Disposable;
}

const LOOK_MS = 50;

// Keeps at most `maxConnections` open: a process that has no file descriptor left can serve no caller at all.
export function watchConnections(server: Server, maxConnections = Infinity): ClosingConnections {
  const connections = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
    if (connections.size > maxConnections) makeRoomFor(socket);
    if (connections.size > maxConnections) endSocketWithReply(socket, toErrorReply(new AppError("too_many_connections")));
  });

  // Closes connections without a request: those that had one, then those that never sent any, the oldest first.
  function makeRoomFor(newest: Socket): void {
    server.closeIdleConnections();
    for (const socket of connections) {
      if (socket === newest) continue;
      if (!socket.destroyed && connections.size > maxConnections && socket.bytesRead === 0) socket.destroy();
      if (socket.destroyed) connections.delete(socket);
    }
  }

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
