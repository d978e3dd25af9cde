import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

// Handles the requests of one connection one after the other. Node parses all requests that arrive in one packet at once,
// a thousand and more, so a single caller without a key could hold up the event loop for all of them. Here each waits for the
// response to the one before and for the next round of the event loop. Clients that pipeline are rare and send few requests
// ahead, so a connection with more is closed.
export function handleInSequence(handle: Handle): Handle {
  function start(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    connection.isBusy = true;
    // It closes once, and `once` would cost several times as much.
    response.on("close", () => {
      if (connection.waiting.length === 0) connection.isBusy = false;
      else setImmediate(startNext, connection);
    });
    handle(request, response);
  }

  function startNext(connection: Connection): void {
    const next = connection.socket.destroyed ? undefined : connection.waiting.shift();
    if (next) start(connection, ...next);
    else connection.isBusy = false;
  }

  return (request, response) => {
    const { socket } = request;
    if (socket.destroyed) return;
    const connection = ((socket as QueuedSocket)[CONNECTION] ??= { socket, isBusy: false, waiting: [] });
    if (!connection.isBusy) {
      start(connection, request, response);
    } else if (connection.waiting.length < MAX_WAITING) {
      connection.waiting.push([request, response]);
    } else {
      socket.destroy();
    }
  };
}

// A property of the socket, because every request looks for it: a map of sockets takes several times as long.
const CONNECTION = Symbol("connection");
type QueuedSocket = Socket & { [CONNECTION]?: Connection };

interface Connection {
  socket: Socket;
  // A request is being handled, or the next one is about to start.
  isBusy: boolean;
  waiting: [IncomingMessage, ServerResponse][];
}

const MAX_WAITING = 64;
