import { Server as HttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { setImmediate as nextRound, setTimeout as delay } from "node:timers/promises";
import { AppError } from "@berth/contract";
import { endSocketWithReply, toErrorReply } from "../../error-reply.ts";

export interface ConnectionLimits {
  // Keeps at most so many open: a process that has no file descriptor left can serve no caller at all.
  maxConnections?: number | undefined;
  // For how long a connection without a request stays open while the server closes.
  quietMs?: number | undefined;
}

export interface ClosingConnections {
  // Stops listening and ends every connection with its next response. A client may have sent that request already, so a connection
  // without one is closed only when it was quiet for `quietMs`. Resolves when no such connection is left.
  quieten(): Promise<void>;
  // From now on, closes each connection as soon as it has no request, and every connection after `atMostMs`. Node itself keeps
  // those that were busy when the server started to close, and those that never sent a request: browsers open them in advance.
  begin(atMostMs: number): Disposable;
}

interface Use {
  // Requests without a response yet. An upgrade stays one.
  requests: number;
  // Those of plain requests.
  responses: ServerResponse[];
  bytesRead: number;
  quietSinceMs: number;
}

// A property of the socket, because every request looks for it.
const USE = Symbol("use");
type UsedSocket = Socket & { [USE]?: Use };

const LOOK_MS = 50;

export function watchConnections(server: Server, { maxConnections = Infinity, quietMs = 0 }: ConnectionLimits = {}): ClosingConnections {
  const connections = new Map<Socket, Use>();
  let closing = false;

  server.on("connection", (socket: Socket) => {
    const use: Use = { requests: 0, responses: [], bytesRead: 0, quietSinceMs: performance.now() };
    connections.set(socket, use);
    (socket as UsedSocket)[USE] = use;
    socket.once("close", () => connections.delete(socket));
    if (connections.size > maxConnections) makeRoomFor(socket);
    if (connections.size > maxConnections) endSocketWithReply(socket, toErrorReply(new AppError("too_many_connections")));
  });
  for (const event of ["request", "checkExpectation"]) server.prependListener(event, noteRequest);
  for (const event of ["upgrade", "connect"]) server.prependListener(event, ({ socket }: IncomingMessage) => begun(socket));
  // Node and Fastify call it as soon as the server closes, when the next request of a client may be on its way.
  server.closeIdleConnections = closeQuiet;

  const begun = (socket: UsedSocket): Use | undefined => {
    const use = socket[USE];
    if (use) use.requests++;
    return use;
  };

  function noteRequest({ socket }: IncomingMessage, response: ServerResponse): void {
    const use = begun(socket);
    if (closing) response.shouldKeepAlive = false;
    if (!use) return;
    use.responses.push(response);
    response.on("close", () => {
      use.responses.splice(use.responses.indexOf(response), 1);
      use.requests--;
      use.quietSinceMs = performance.now();
    });
  }

  // Closes connections without a request: those that had one, then those that never sent any, the oldest first.
  function makeRoomFor(newest: Socket): void {
    HttpServer.prototype.closeIdleConnections.call(server);
    for (const socket of connections.keys()) {
      if (socket === newest) continue;
      if (!socket.destroyed && connections.size > maxConnections && socket.bytesRead === 0) socket.destroy();
      if (socket.destroyed) connections.delete(socket);
    }
  }

  function closeQuiet(): void {
    const nowMs = performance.now();
    for (const [socket, use] of connections) {
      if (use.requests > 0) continue;
      // A part of a request has arrived.
      if (socket.bytesRead > use.bytesRead) Object.assign(use, { bytesRead: socket.bytesRead, quietSinceMs: nowMs });
      if (nowMs - use.quietSinceMs >= quietMs) socket.destroy();
    }
  }

  async function untilNoneIsIdle(atMostMs: number): Promise<void> {
    const endMs = performance.now() + atMostMs;
    for (closeQuiet(); performance.now() < endMs && [...connections.values()].some(({ requests }) => requests === 0); closeQuiet())
      await delay(LOOK_MS);
  }

  function endConnections(): void {
    closing = true;
    // Those whose headers are sent already stay open, and are closed when they are quiet.
    for (const { responses } of connections.values())
      for (const response of responses) if (!response.headersSent) response.shouldKeepAlive = false;
    closeQuiet();
  }

  return {
    async quieten() {
      // While the server still listens, so that it refuses connections for a shorter time.
      await untilNoneIsIdle(quietMs);
      await acceptWaiting(server, 4 * quietMs);
      // Not the method of the HTTP server, which also ends connections.
      NetServer.prototype.close.call(server);
      endConnections();
      await untilNoneIsIdle(2 * quietMs);
    },

    begin(atMostMs) {
      const looking = setInterval(closeQuiet, LOOK_MS);
      const ending = setTimeout(() => server.closeAllConnections(), atMostMs);
      endConnections();
      return {
        [Symbol.dispose]() {
          clearInterval(looking);
          clearTimeout(ending);
        },
      };
    },
  };
}

// The kernel resets connections that it has completed and we have not accepted when the server stops listening. Node accepts one in
// each round of the event loop, so a busy server has some.
async function acceptWaiting(server: Server, atMostMs: number): Promise<void> {
  const endMs = performance.now() + atMostMs;
  let accepted = 0;
  const count = () => void accepted++;
  server.on("connection", count);
  for (let idleRounds = 0; idleRounds < 2 && performance.now() < endMs;) {
    const before = accepted;
    await nextRound();
    idleRounds = accepted === before ? idleRounds + 1 : 0;
  }
  server.off("connection", count);
}
