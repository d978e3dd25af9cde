import { once } from "node:events";
import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DaemonLinks } from "./daemon-links.ts";
import { createLinkedDaemon, failureOf, SANDBOX, type LinkedDaemon } from "./testing/linked-daemon.ts";

let daemon: LinkedDaemon;
let links: DaemonLinks;
beforeEach(() => {
  daemon = createLinkedDaemon();
  links = daemon.openLinks();
});
afterEach(() => daemon[Symbol.asyncDispose]());

describe("a daemon link", () => {
  test("fails when the daemon accepts the connection and never answers", async () => {
    links = daemon.openLinks({ headersTimeoutMs: 300 });
    await daemon.serveRaw(() => {});
    expect(await failureOf(links.request(SANDBOX, { method: "GET", path: "/health" }))).toBe("sandbox_unreachable");
    expect(await failureOf(links.upgrade(SANDBOX, { path: "/events", headers: {} }))).toBe("sandbox_unreachable");
  });

  test("fails at its deadline while the daemon floods it with interim responses", async () => {
    links = daemon.openLinks({ headersTimeoutMs: 300 });
    await daemon.serveRaw((socket) => {
      const timer = setInterval(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), 20);
      socket.on("close", () => clearInterval(timer));
    });
    expect(await failureOf(links.request(SANDBOX, { method: "GET", path: "/health" }))).toBe("sandbox_unreachable");
    expect(await failureOf(links.upgrade(SANDBOX, { path: "/events", headers: {} }))).toBe("sandbox_unreachable");
  });

  test("refuses headers without end", async () => {
    await daemon.serveRaw(endless);
    expect(await failureOf(links.request(SANDBOX, { method: "GET", path: "/health" }))).toBe("sandbox_unreachable");
    expect(await failureOf(links.upgrade(SANDBOX, { path: "/events", headers: {} }))).toBe("sandbox_unreachable");
  });

  test("refuses a response that is not HTTP", async () => {
    await daemon.serveRaw((socket) => socket.write("\x00\xff hello\r\n\r\n"));
    expect(await failureOf(links.request(SANDBOX, { method: "GET", path: "/health" }))).toBe("sandbox_unreachable");
    expect(await failureOf(links.upgrade(SANDBOX, { path: "/events", headers: {} }))).toBe("sandbox_unreachable");
  });

  test("applies back-pressure to a response that the caller does not read", async () => {
    let sent = 0;
    await daemon.serveRaw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n");
      const block = Buffer.alloc(64 * 1024);
      const more = () => {
        while (socket.write(block)) sent += block.length;
      };
      socket.on("drain", more);
      socket.once("data", more);
    });
    const response = await links.request(SANDBOX, { method: "GET", path: "/files/content?path=big" });
    await once(response.body, "readable");
    let before = -1;
    await expect.poll(() => before === (before = sent), { interval: 100 }).toBe(true);
    expect(sent).toBeLessThan(4_000_000);
    response.body.destroy();
  });

  test.each(["000 x", "099 x", "200 OK", "304 Not Modified", "999 x"])("reports an upgrade answered with %s as 502", async (status) => {
    await daemon.serveRaw((socket) => socket.once("data", () => socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`)));
    expect(await links.upgrade(SANDBOX, { path: "/events", headers: {} })).toMatchObject({ refused: { status: 502 } });
  });

  test("closes only the connection whose bytes make a listener throw", async () => {
    const server = await daemon.serveHttp((_request, response) => void response.write("begun"));
    server.on("upgrade", (_request, socket: Socket) => {
      daemon.sockets.add(socket);
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nbytes");
    });
    const fault = () => {
      throw new Error("a bug in a listener");
    };
    const upgraded = await links.upgrade(SANDBOX, { path: "/events", headers: {} });
    const answer = await links.request(SANDBOX, { method: "GET", path: "/exec", bodyTimeoutMs: 0 });
    if (!("socket" in upgraded)) throw new Error("refused");
    upgraded.socket.unshift(upgraded.head);
    for (const stream of [upgraded.socket, answer.body]) {
      const closed = new Promise((resolve) => stream.once("close", resolve));
      stream.on("data", fault);
      await closed;
    }
    expect(daemon.failures).toEqual(["connection.failed", "connection.failed"]);
    expect((await links.request(SANDBOX, { method: "GET", path: "/health", bodyTimeoutMs: 0 })).status).toBe(200);
  });
});

function endless(socket: Socket): void {
  socket.write("HTTP/1.1 200 OK\r\n");
  const more = () => {
    while (socket.write(`x-padding: ${"a".repeat(1000)}\r\n`));
  };
  socket.on("drain", more);
  socket.once("data", more);
}
