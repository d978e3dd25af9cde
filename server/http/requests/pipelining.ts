import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

// Handles the requests of one connection one after the other. Node parses all requests that arrive in one packet at once,
// a thousand and more, so a single caller without a key could hold up the event loop for all of them. Here each waits for the
// response to the one before and for the next round of the event loop. Clients that pipeline are rare and send few requests
// ahead, so a connection with more is closed.
export function handleInSequence(handle: Handle): Handle {
  const connections = new WeakMap<Socket, { waiting: [IncomingMessage, ServerResponse][] }>();

  function start(request: IncomingMessage, response: ServerResponse): void {
    // A request that was destroyed has no socket any more.
    const { socket } = request;
    response.once("close", () => {
      if (connections.get(socket)?.waiting.length === 0) connections.delete(socket);
      else setImmediate(startNext, socket);
    });
    handle(request, response);
  }

  function startNext(socket: Socket): void {
    const next = socket.destroyed ? undefined : connections.get(socket)?.waiting.shift();
    if (next) start(...next);
    else connections.delete(socket);
  }

  return (request, response) => {
    const { socket } = request;
    if (socket.destroyed) return;
    const busy = connections.get(socket);
    if (!busy) {
      connections.set(socket, { waiting: [] });
      start(request, response);
    } else if (busy.waiting.length < MAX_WAITING) {
      busy.waiting.push([request, response]);
    } else {
      socket.destroy();
    }
  };
}

const MAX_WAITING = 64;
