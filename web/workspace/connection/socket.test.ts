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

test("it reconnects after the connection breaks", async () => {
  const closes: unknown[] = [];
  const first = nextConnection();
  using _socket = connect({ onDisconnected: (event) => closes.push(event) });
  (await first).terminate();
  await nextConnection();
  expect(closes).toEqual([{ code: 1006, retrying: true }]);
});

test("after a close code for a paused session it waits for retryNow", async () => {
  const disconnected = Promise.withResolvers<{ code: number; retrying: boolean }>();
  const first = nextConnection();
  using socket = connect({ onDisconnected: disconnected.resolve });
  (await first).close(CLOSE.sessionPaused);
  expect(await disconnected.promise).toEqual({ code: CLOSE.sessionPaused, retrying: false });
  const second = nextConnection();
  socket.retryNow();
  await second;
});

test("a refusal that was under way when retryNow was called is not final", async () => {
  const closes: unknown[] = [];
  const first = nextConnection();
  using socket = connect({ onDisconnected: (event) => closes.push(event) });
  const early = await first;
  socket.retryNow();
  early.close(CLOSE.sessionPaused);
  const second = await nextConnection();
  expect(closes).toEqual([{ code: CLOSE.sessionPaused, retrying: true }]);
  second.close(CLOSE.sessionPaused);
  await expect.poll(() => closes.length).toBe(2);
  expect(closes[1]).toEqual({ code: CLOSE.sessionPaused, retrying: false });
});

test("send reports whether the data was sent, so that no input is lost while disconnected", async () => {
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

test("reconnect replaces an open connection without reporting a disconnect", async () => {
  const closes: unknown[] = [];
  const opened = Promise.withResolvers<void>();
  const first = nextConnection();
  using socket = connect({ onOpen: opened.resolve, onDisconnected: (event) => closes.push(event) });
  const firstClosed = once(await first, "close");
  await opened.promise;
  const second = nextConnection();
  socket.reconnect();
  await Promise.all([second, firstClosed]);
  expect(closes).toEqual([]);
});

test("the URL is read again before every attempt", async () => {
  const { port } = server.address() as AddressInfo;
  let attempt = 0;
  const requests: (string | undefined)[] = [];
  server.on("connection", (_peer, request) => requests.push(request.url));
  const first = nextConnection();
  using _socket = connect({ url: () => `ws://127.0.0.1:${port}/?offset=${attempt++}` });
  (await first).terminate();
  await nextConnection();
  expect(requests).toEqual(["/?offset=0", "/?offset=1"]);
});
