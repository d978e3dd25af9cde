import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { CLOSE } from "@berth/contract/daemon.ts";
import { openGateway, type TestGateway } from "../testing/test-gateway.ts";
import { openStream } from "../testing/test-requests.ts";

describe("a WebSocket of the workspace", () => {
  test("relays both ways, unchanged, with the subprotocol that the daemon chose", async () => {
    await using gateway = await openGateway();
    const urls = await serveSockets(gateway, (socket) => socket.on("message", (data, binary) => socket.send(data, { binary })));
    const socket = await connectTo(gateway, { protocols: ["one", "two"] });
    await once(socket, "open");
    const big = Buffer.alloc(300_000, "x");
    socket.send(big);
    const [echo, binary] = (await once(socket, "message")) as [Buffer, boolean];
    expect([echo.equals(big), binary, socket.protocol]).toEqual([true, true, "one"]);
    expect(urls).toEqual(["/terminals/t1?offset=5"]);
    socket.close(4000, "bye");
    expect((await once(socket, "close"))[0]).toBe(4000);
    await expect.poll(() => gateway.registry.metrics()).toContain('berth_gateway_open{kind="sockets"} 0');
  });

  test("closes right after the daemon's close frame, without the grace period", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, () => {});
    const tookMs: number[] = [];
    // Take the fastest of several attempts, because a busy machine can make any of them slow.
    for (let attempt = 0; attempt < 20 && !tookMs.some((ms) => ms < 400); attempt++) {
      const socket = await connectTo(gateway);
      await once(socket, "open");
      const startedMs = performance.now();
      socket.close(4000, "bye");
      await once(socket, "close");
      tookMs.push(performance.now() - startedMs);
    }
    expect(Math.min(...tookMs)).toBeLessThan(400);
  });

  test("closes with a code if the session is paused or destroyed or the partner is suspended", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, (socket) => socket.send("hello"));
    const codes: number[] = [];
    for (const change of [() => gateway.setStatus("paused"), () => gateway.setStatus("destroyed"), suspend]) {
      gateway.setStatus("running");
      const socket = await connectTo(gateway);
      await once(socket, "message");
      change();
      codes.push((await once(socket, "close"))[0] as number);
    }
    expect(codes).toEqual([4409, 4410, 4401]);

    function suspend() {
      gateway.partner.state = "suspended";
      void gateway.clock.advance(3_000);
    }
  });

  test("closes with a code when the server stops, and new upgrades get 503", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, (socket) => socket.send("hello"));
    const stream = await openStream(gateway, await gateway.signIn());
    await stream.next();
    const socket = await connectTo(gateway);
    await once(socket, "message");
    const closed = once(socket, "close");
    await gateway.close();
    expect((await closed)[0]).toBe(4503);
    expect(await stream.next()).toBe("end");
    const again = await connectTo(gateway, { cookie: "" });
    expect(String((await once(again, "error"))[0])).toContain("503");
    expect((await gateway.send("/workspace/", { headers: { accept: "text/html" } })).body).toContain("<h1>");
  });

  test("closes with a code even if many sockets were opened at once", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, (socket) => socket.send("hello"));
    const cookie = await gateway.signIn();
    const sockets = await Promise.all(Array.from({ length: 5 }, () => connectTo(gateway, { cookie })));
    await Promise.all(sockets.map((socket) => once(socket, "message")));
    const closed = Promise.all(sockets.map((socket) => once(socket, "close")));
    expect(await gateway.registry.metrics()).toContain('berth_gateway_open{kind="sockets"} 5');
    await gateway.close();
    expect((await closed).map(([code]) => Number(code))).toEqual([4503, 4503, 4503, 4503, 4503]);
  });

  test("is refused with close codes, which a page can read", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((_request, response) => response.writeHead(404).end());
    const closed = async (cookie?: string) =>
      (await once(await connectTo(gateway, { ...(cookie !== undefined && { cookie }) }), "close"))[0] as number;
    const cookie = await gateway.signIn();
    expect(await closed("")).toBe(4401);
    expect(await closed(cookie)).toBe(4404);
    gateway.setStatus("paused");
    expect(await closed(cookie)).toBe(4409);
    gateway.setStatus("destroyed");
    expect(await closed(cookie)).toBe(4410);
  });

  test("is refused if it comes from a page of another origin", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, () => {});
    for (const origin of ["https://evil.example", "null", `${gateway.origin}.evil.example`, undefined]) {
      const socket = await connectTo(gateway, { origin });
      const [error] = (await once(socket, "error")) as [Error];
      expect(error.message).toContain("403");
    }
  });

  test("is kept alive by pings, and cut if the client stops answering them", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, (socket) => socket.send("hello"));
    const socket = await connectTo(gateway);
    await once(socket, "message");
    const pinged = once(socket, "ping");
    await gateway.clock.advance(25_000);
    await pinged;
    socket.pause();
    await gateway.clock.advance(100_000);
    socket.resume();
    expect((await once(socket, "close"))[0]).toBe(1006);
  });

  test("closes as paused if the daemon disconnects shortly before the pause completes", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, (socket) => socket.send("hello"));
    const socket = await connectTo(gateway);
    await once(socket, "message");
    const closed = once(socket, "close");
    gateway.links.forget(gateway.sandboxId);
    setTimeout(() => gateway.setStatus("paused"), 50);
    expect((await closed)[0]).toBe(4409);
  });

  test("closes as paused however long the pause takes, and as destroyed before the sandbox is gone", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, (socket) => socket.send("hello"));
    const closeIn = async (state: "pausing" | "destroying") => {
      gateway.setStatus("running");
      const socket = await connectTo(gateway);
      await once(socket, "message");
      const closed = once(socket, "close");
      gateway.session.state = state;
      gateway.links.forget(gateway.sandboxId);
      return closed;
    };
    const pausing = closeIn("pausing");
    setTimeout(() => gateway.setStatus("paused"), 700);
    expect((await pausing)[0]).toBe(4409);
    expect((await closeIn("destroying"))[0]).toBe(CLOSE.sessionDestroyed);
  });

  test("closes with 1011 if the daemon disconnects without a close frame", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, (socket) => {
      socket.send("hello");
      socket.terminate();
    });
    expect((await once(await connectTo(gateway), "close"))[0]).toBe(1011);
  });

  test("disconnects from the daemon if the caller disconnects during the handshake", async () => {
    await using gateway = await openGateway({ headersTimeoutMs: 600_000 });
    const [requested, disconnected] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await gateway.serveRawDaemon((daemon) => {
      daemon.once("data", () => requested.resolve());
      daemon.once("close", () => disconnected.resolve());
    });
    // A half-open connection, so that the test would see a reply.
    const key = "AAAAAAAAAAAAAAAAAAAAAA==";
    const handshake = ["host: localhost", "x-api-key: good", "upgrade: websocket", "connection: upgrade", "sec-websocket-version: 13"];
    const caller = connect({ port: gateway.port, host: "127.0.0.1", allowHalfOpen: true });
    caller.write([`GET /sandboxes/${gateway.sandboxId}/events HTTP/1.1`, ...handshake, `sec-websocket-key: ${key}`, "", ""].join("\r\n"));
    await requested.promise;
    caller.end();
    await disconnected.promise;
    expect(await text(caller)).toBe("");
  });

  test("applies back-pressure to a daemon if the caller reads slowly", async () => {
    await using gateway = await openGateway();
    let sent = 0;
    await serveSockets(gateway, (socket) => {
      const more = () => {
        sent += 65_536;
        socket.send(Buffer.alloc(65_536), (error) => error ?? more());
      };
      more();
    });
    const socket = await connectTo(gateway);
    await once(socket, "open");
    socket.pause();
    await expect
      .poll(async () => {
        const before = sent;
        await new Promise((resolve) => setTimeout(resolve, 200));
        return sent - before;
      })
      .toBe(0);
    expect(sent).toBeLessThan(32_000_000);
    socket.terminate();
  });
});

async function connectTo(
  gateway: TestGateway,
  options: { cookie?: string; origin?: string | undefined; protocols?: string[] } = {},
): Promise<WebSocket> {
  const { cookie = await gateway.signIn(), protocols = [] } = options;
  const origin = "origin" in options ? options.origin : gateway.origin;
  return new WebSocket(`ws://127.0.0.1:${gateway.port}/workspace/${gateway.sandboxId}/api/terminals/t1?offset=5`, protocols, {
    headers: { cookie, ...(origin !== undefined && { origin }) },
  });
}

// Serves WebSockets as the daemon. Returns the list of requested URLs.
async function serveSockets(gateway: TestGateway, serve: (socket: WebSocket) => void): Promise<(string | undefined)[]> {
  const urls: (string | undefined)[] = [];
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true });
  const server = await gateway.serveDaemon((_request, response) => response.end());
  server.on("upgrade", (request: IncomingMessage, socket, head) => {
    urls.push(request.url);
    sockets.handleUpgrade(request, socket, head, serve);
  });
  return urls;
}
