import { createServer, type IncomingHttpHeaders } from "node:http";
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from "node:net";

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

// A partner's receiver. Stores the requests and answers with the status that `answer` returns.
export async function startReceiver(answer: (received: Received, count: number) => number | Promise<number> = () => 204) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const entry = { headers: request.headers, body };
      received.push(entry);
      void Promise.resolve(answer(entry, received.length)).then((status) =>
        response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end("thanks"),
      );
    });
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}/hook`,
    received,
    events: () => received.map(({ body }) => JSON.parse(body) as { type: string; data: { n?: number; sessionId?: string } }),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

// A receiver that need not speak HTTP. `behave` gets each connection when a request has arrived on it.
export async function startRawReceiver(behave: (socket: Socket) => void) {
  const open = new Set<Socket>();
  const closings = Promise.withResolvers<"closed">();
  let count = 0;
  let isGone = false;
  const server = createTcpServer((socket) => {
    open.add(socket);
    count++;
    socket.on("error", () => {});
    socket.on("close", () => {
      open.delete(socket);
      closings.resolve("closed");
    });
    socket.once("data", () => (isGone ? socket.destroy() : behave(socket)));
  });
  const hangUp = () => {
    isGone = true;
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${await listen(server)}/hook`,
    open,
    // Closes every connection, and from now on each new one when its request arrives.
    hangUp,
    // The number of connections so far.
    count: () => count,
    // Resolves when the first connection has been closed.
    firstClosed: closings.promise,
    [Symbol.asyncDispose]: () => {
      hangUp();
      return new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return (server.address() as AddressInfo).port;
}
