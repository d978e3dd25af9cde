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
