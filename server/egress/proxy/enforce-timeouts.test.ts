import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { enforceTimeouts } from "./enforce-timeouts.ts";

test("a server that never listens times out a connection that sends no headers", async () => {
  const inner = createHttpServer({ headersTimeout: 50, connectionsCheckingInterval: 20, requestTimeout: 0 });
  enforceTimeouts(inner);
  const front = createServer((socket) => inner.emit("connection", socket)).listen(0, "127.0.0.1");
  await once(front, "listening");
  const socket = connect((front.address() as AddressInfo).port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\n");
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /);
  inner.close();
  front.close();
  await once(front, "close");
});
