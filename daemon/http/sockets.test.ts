import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { acceptSocket } from "./sockets.ts";

test("a peer that does not answer pings is disconnected within 15 seconds, and one that answers stays", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const server = createServer().listen(0, "127.0.0.1");
  server.on("upgrade", (request, socket, head) =>
    acceptSocket({ request, socket, head, params: {}, query: new URLSearchParams(), cover() {} }, () => {}),
  );
  await once(server, "listening");
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const [alive, dead] = [new WebSocket(url), new WebSocket(url, { autoPong: false })];
  await Promise.all([once(alive, "open"), once(dead, "open")]);
  const closed = once(dead, "close");
  for (let pings = 0; pings < 2; pings++) {
    const pinged = once(alive, "ping");
    vi.advanceTimersByTime(5000);
    await pinged;
    // The answer arrives before this answer to a ping of ours.
    alive.ping();
    await once(alive, "pong");
  }
  vi.advanceTimersByTime(5000);
  await closed;
  expect(alive.readyState).toBe(WebSocket.OPEN);
  alive.terminate();
  vi.useRealTimers();
  await new Promise((done) => server.close(done));
});
