import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WebSocketServer, type WebSocket as ServerSocket } from "ws";
import { CLOSE } from "@berth/contract/daemon.ts";
import { createBackoff } from "./backoff.ts";
import { connectSocket, type SocketOptions } from "./socket.ts";

let server: WebSocketServer;

beforeEach(async () => {
  server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
});

afterEach(async () => {
  for (const client of server.clients) client.terminate();
  await new Promise((done) => server.close(done));
});

const nextConnection = async () => ((await once(server, "connection")) as [ServerSocket])[0];

function connect(options: Partial<SocketOptions> = {}) {
  const { port } = server.address() as AddressInfo;
  return connectSocket({
    url: () => `ws://127.0.0.1:${port}/`,
    onText: () => {},
    backoff: createBackoff({ firstMs: 5, random: () => 0 }),
    ...options,
  });
}

test("comes back after the connection is cut", async () => {
  const downs: unknown[] = [];
  const first = nextConnection();
  using _socket = connect({ onDown: (down) => downs.push(down) });
  (await first).terminate();
  await nextConnection();
  expect(downs).toEqual([{ code: 1006, retrying: true }]);
});

test("waits to be prodded after a close code that says the session is paused", async () => {
  const down = Promise.withResolvers<{ code: number; retrying: boolean }>();
  const first = nextConnection();
  using socket = connect({ onDown: down.resolve });
  (await first).close(CLOSE.sessionPaused);
  expect(await down.promise).toEqual({ code: CLOSE.sessionPaused, retrying: false });
  const second = nextConnection();
  socket.prod();
  await second;
});

test("is not turned away for good by a refusal that was under way when it was prodded", async () => {
  const downs: unknown[] = [];
  const first = nextConnection();
  using socket = connect({ onDown: (down) => downs.push(down) });
  const early = await first;
  socket.prod();
  early.close(CLOSE.sessionPaused);
  const second = await nextConnection();
  expect(downs).toEqual([{ code: CLOSE.sessionPaused, retrying: true }]);
  second.close(CLOSE.sessionPaused);
  await expect.poll(() => downs.length).toBe(2);
  expect(downs[1]).toEqual({ code: CLOSE.sessionPaused, retrying: false });
});

test("says whether something was sent, so that nothing typed is thought sent while the line is down", async () => {
  const opened = Promise.withResolvers<void>();
  const connection = nextConnection();
  using socket = connect({ onOpen: opened.resolve });
  expect(socket.send("too early")).toBe(false);
  const peer = await connection;
  await opened.promise;
  const message = once(peer, "message");
  expect(socket.send("hello")).toBe(true);
  expect(String((await message)[0])).toBe("hello");
});

test("a line that is renewed connects again although it was open, and is not heard of as down", async () => {
  const downs: unknown[] = [];
  const opened = Promise.withResolvers<void>();
  const first = nextConnection();
  using socket = connect({ onOpen: opened.resolve, onDown: (down) => downs.push(down) });
  const closed = once(await first, "close");
  await opened.promise;
  const second = nextConnection();
  socket.renew();
  await Promise.all([second, closed]);
  expect(downs).toEqual([]);
});

test("asks for the address again before every attempt", async () => {
  const { port } = server.address() as AddressInfo;
  let attempt = 0;
  const requests: (string | undefined)[] = [];
  server.on("connection", (_socket, request) => requests.push(request.url));
  const first = nextConnection();
  using _socket = connect({ url: () => `ws://127.0.0.1:${port}/?offset=${attempt++}` });
  (await first).terminate();
  await nextConnection();
  expect(requests).toEqual(["/?offset=0", "/?offset=1"]);
});
