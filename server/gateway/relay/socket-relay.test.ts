import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { openGateway, openStream, type TestGateway } from "../testing/test-gateway.ts";

describe("a WebSocket of the workspace", () => {
  it("passes both ways, unchanged, with the subprotocol that the daemon chose", async () => {
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

  it("ends with the daemon's goodbye, without the grace for a daemon that says none", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, () => {});
    const tookMs: number[] = [];
    // The best of some: a busy machine makes any of them slow.
    for (let visit = 0; visit < 20 && !tookMs.some((ms) => ms < 400); visit++) {
      const socket = await connectTo(gateway);
      await once(socket, "open");
      const startedMs = performance.now();
      socket.close(4000, "bye");
      await once(socket, "close");
      tookMs.push(performance.now() - startedMs);
    }
    expect(Math.min(...tookMs)).toBeLessThan(400);
  });

  it("is told goodbye when the session is paused, destroyed or no longer the user's", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, (socket) => socket.send("hello"));
    const codes: number[] = [];
    for (const change of [() => gateway.become("paused"), () => gateway.become("destroyed"), suspend]) {
      gateway.become("running");
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

  it("is told goodbye when the server stops, and finds nobody at home after that", async () => {
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
    expect((await gateway.ask("/workspace/", { headers: { accept: "text/html" } })).body).toContain("<h1>");
  });

  it("is told goodbye also when many were opened at once", async () => {
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

  it("gets its refusals as close codes, which a page can read", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((_request, response) => response.writeHead(404).end());
    const closed = async (cookie?: string) =>
      (await once(await connectTo(gateway, { ...(cookie !== undefined && { cookie }) }), "close"))[0] as number;
    const cookie = await gateway.signIn();
    expect(await closed("")).toBe(4401);
    expect(await closed(cookie)).toBe(4404);
    gateway.become("paused");
    expect(await closed(cookie)).toBe(4409);
    gateway.become("destroyed");
    expect(await closed(cookie)).toBe(4410);
  });

  it("is refused to the pages of others", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, () => {});
    for (const origin of ["https://evil.example", "null", `${gateway.origin}.evil.example`, undefined]) {
      const socket = await connectTo(gateway, { origin });
      const [error] = (await once(socket, "error")) as [Error];
      expect(error.message).toContain("403");
    }
  });

  it("is kept alive by pings, and cut when nobody answers them", async () => {
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

  it("is told of a pause that cut the daemon off before it was complete", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, (socket) => socket.send("hello"));
    const socket = await connectTo(gateway);
    await once(socket, "message");
    const closed = once(socket, "close");
    gateway.links.forget(gateway.sandboxId);
    setTimeout(() => gateway.become("paused"), 50);
    expect((await closed)[0]).toBe(4409);
  });

  it("says so when the daemon is gone without a goodbye", async () => {
    await using gateway = await openGateway();
    await serveSockets(gateway, (socket) => {
      socket.send("hello");
      socket.terminate();
    });
    expect((await once(await connectTo(gateway), "close"))[0]).toBe(1011);
  });

  it("lets go of the daemon when the caller leaves before it has answered", async () => {
    await using gateway = await openGateway({ headersTimeoutMs: 600_000 });
    const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await gateway.serveRaw((daemon) => {
      daemon.once("data", () => asked.resolve());
      daemon.once("close", () => left.resolve());
    });
    // Over a connection whose other direction stays open, so that an answer would be seen.
    const key = "AAAAAAAAAAAAAAAAAAAAAA==";
    const handshake = ["host: localhost", "x-api-key: good", "upgrade: websocket", "connection: upgrade", "sec-websocket-version: 13"];
    const caller = connect({ port: gateway.port, host: "127.0.0.1", allowHalfOpen: true });
    caller.write([`GET /sandboxes/${gateway.sandboxId}/events HTTP/1.1`, ...handshake, `sec-websocket-key: ${key}`, "", ""].join("\r\n"));
    await asked.promise;
    caller.end();
    await left.promise;
    expect(await text(caller)).toBe("");
  });

  it("makes a fast daemon wait for a slow reader", async () => {
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
        await new Promise((done) => setTimeout(done, 200));
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

// Serves WebSockets as the daemon; the result lists what was asked for.
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
