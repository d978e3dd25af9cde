import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { watchConnections } from "./closing-connections.ts";

async function listen(server: Server): Promise<() => Promise<Socket>> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return async () => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    await Promise.all([once(socket, "connect"), once(server, "connection")]);
    return socket;
  };
}

test("a server that closes waits for its requests, but not for connections without one", async () => {
  const requested = Promise.withResolvers<() => void>();
  const server = createServer((_request, response) => requested.resolve(() => response.end("done")));
  const connections = watchConnections(server);
  const open = await listen(server);
  const [unused, busy] = [await open(), await open()];
  busy.write("GET / HTTP/1.1\r\nhost: berth\r\n\r\n");
  const finish = await requested.promise;
  const closed = once(server.close(), "close");
  using _closing = connections.begin(60_000);
  expect(await text(unused)).toBe("");
  finish();
  expect(await text(busy)).toContain("done");
  await closed;
});

test("a server that stops answers every request of a client that goes on, and the last response ends the connection", async () => {
  const server = createServer((_request, response) => response.end("done"));
  const connections = watchConnections(server, { quietMs: 200 });
  const socket = await (await listen(server))();
  const ask = async () => {
    socket.write("GET / HTTP/1.1\r\nhost: berth\r\n\r\n");
    return String((await once(socket, "data"))[0]);
  };
  expect(await ask()).toContain("Connection: keep-alive");
  const quiet = connections.quieten();
  let answer = "";
  while (!answer.includes("Connection: close")) expect((answer = await ask())).toContain("done");
  expect(server.listening).toBe(false);
  expect(await text(socket)).toBe("");
  await quiet;
});

test("a server that stops closes connections that stay quiet, and waits for no request in flight", async () => {
  const requested = Promise.withResolvers<() => void>();
  const server = createServer((_request, response) => requested.resolve(() => response.end("done")));
  const connections = watchConnections(server, { quietMs: 100 });
  const open = await listen(server);
  const [quiet, busy] = [await open(), await open()];
  busy.write("GET / HTTP/1.1\r\nhost: berth\r\n\r\n");
  const finish = await requested.promise;
  await connections.quieten();
  expect(await text(quiet)).toBe("");
  finish();
  expect(await text(busy)).toMatch(/Connection: close[^]*done/);
});

test("a request that never ends does not keep the server open", async () => {
  const server = createServer(() => {});
  const connections = watchConnections(server);
  const open = await listen(server);
  const [asking, half] = [await open(), await open()];
  for (const socket of [asking, half]) socket.on("error", () => {});
  asking.write("GET / HTTP/1.1\r\nhost: berth\r\n\r\n");
  half.write("GET / HT");
  await once(server, "request");
  const closed = once(server.close(), "close");
  using _closing = connections.begin(100);
  await closed;
});

test("above the limit, idle connections are closed for new ones, and if all are busy, a new one gets 503", async () => {
  const server = createServer(() => {});
  watchConnections(server, { maxConnections: 2 });
  const open = await listen(server);
  const silent = await open();
  const busy = [await open(), await open()];
  // The silent one had to go.
  expect(await text(silent)).toBe("");
  for (const socket of busy) {
    socket.on("error", () => {}).write("GET / HTTP/1.1\r\nhost: berth\r\n\r\n");
    await once(server, "request");
  }
  expect(await text(await open())).toMatch(/^HTTP\/1\.1 503 [^]*x-error-code: too_many_connections/);
  server.closeAllConnections();
  await once(server.close(), "close");
});
