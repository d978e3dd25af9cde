import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { openGateway, type TestGateway } from "./testing.ts";

describe("the workspace page", () => {
  it("comes from the server with a policy that trusts no sandbox, and so do its parts", async () => {
    const appFolder = mkdtempSync(join(tmpdir(), "berth-app-"));
    mkdirSync(join(appFolder, "assets"));
    writeFileSync(join(appFolder, "index.html"), "<!doctype html><title>app</title>");
    writeFileSync(join(appFolder, "assets/main-abc.js"), "console.log(1);".repeat(200));
    await using gateway = await openGateway({ appFolder });
    const cookie = await gateway.signIn();
    const page = await gateway.ask(`/workspace/${gateway.sandboxId}/`, { headers: { cookie } });
    expect([page.status, page.body]).toEqual([200, "<!doctype html><title>app</title>"]);
    expect(page.headers["content-security-policy"]).toContain(`script-src ${gateway.origin}/workspace/assets/;`);
    expect(page.headers["content-security-policy"]).toContain("frame-ancestors 'self' https://app.acme.example");
    const asset = await gateway.ask("/workspace/assets/main-abc.js", { headers: { "accept-encoding": "gzip, br" } });
    expect(asset).toMatchObject({
      status: 200,
      headers: { "content-encoding": "br", "cache-control": "public, max-age=31536000, immutable" },
    });
    for (const path of ["index.html", "assets/", "assets/../index.html", "assets/%2e%2e/index.html", "../package.json"])
      expect((await gateway.ask(`/workspace/${path}`)).status).toBe(404);
    rmSync(appFolder, { recursive: true });
  });
});

describe("the workspace's session", () => {
  it("is told in every state, to those who have the cookie", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    const ask = async () =>
      JSON.parse((await gateway.ask(`/workspace/${gateway.sandboxId}/session`, { headers: { cookie } })).body) as object;
    expect(await ask()).toEqual({
      sessionId: gateway.session.id,
      sandboxId: gateway.sandboxId,
      status: "running",
      reason: null,
      generation: 1,
      partnerName: "Acme",
      expiresAtMs: gateway.session.expiresAt,
      serverNowMs: gateway.clock.now(),
      previewUrl: `http://{port}-${gateway.sandboxId.replace("_", "-")}.localhost:${gateway.port}`,
    });
    gateway.session.stopReason = "timeout";
    gateway.become("paused");
    expect(await ask()).toMatchObject({ status: "paused", reason: "timeout", expiresAtMs: null });
    gateway.become("destroyed");
    expect(await ask()).toMatchObject({ status: "destroyed" });
    expect(await gateway.ask(`/workspace/${gateway.sandboxId}/session`)).toMatchObject({
      status: 401,
      headers: { "x-error-code": "unauthorized" },
    });
    expect(
      await gateway.ask(`/workspace/${gateway.sandboxId}/session`, { method: "PUT", headers: { cookie, origin: gateway.origin } }),
    ).toMatchObject({
      status: 405,
      headers: { allow: "GET" },
    });
  });

  it("is streamed: at once, after every change, and to its end", async () => {
    await using gateway = await openGateway();
    const stream = await openStream(gateway, await gateway.signIn());
    expect(await stream.next()).toContain('"status":"running"');
    gateway.become("paused");
    expect(await stream.next()).toContain('"status":"paused"');
    await gateway.clock.advance(15_000);
    expect(await stream.next()).toBe(":");
    gateway.become("destroyed");
    expect(await stream.next()).toContain('"status":"destroyed"');
    expect(await stream.next()).toBe("end");
  });

  it("is counted for the operator, and streamed to so many pages only", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    const path = `/workspace/${gateway.sandboxId}/session/stream`;
    for (let i = 0; i < 100; i++) await openStream(gateway, cookie);
    expect((await gateway.ask(path, { headers: { cookie } })).status).toBe(429);
    const numbers = await gateway.registry.metrics();
    expect(numbers).toContain('berth_gateway_open{kind="streams"} 100');
    expect(numbers).toContain('berth_gateway_requests_total{area="workspace",status="429"} 1');
  });

  it("is streamed no longer than the cookie is good", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    await gateway.clock.advance(7 * 24 * 3_600_000 - 20_000);
    const stream = await openStream(gateway, cookie);
    await stream.next();
    await gateway.clock.advance(15_000);
    expect(await stream.next()).toBe(":");
    await gateway.clock.advance(15_000);
    expect(await stream.next()).toBe("end");
  });

  it("is streamed no longer to a suspended partner's users", async () => {
    await using gateway = await openGateway();
    const stream = await openStream(gateway, await gateway.signIn());
    await stream.next();
    gateway.partner.state = "suspended";
    await gateway.clock.advance(3_000);
    expect(await stream.next()).toBe("end");
  });
});

describe("the daemon's API behind the cookie", () => {
  it("shows a person who opens its address a page", async () => {
    await using gateway = await openGateway();
    const title = async (path: string, cookie: string) =>
      /<h1>(.*)<\/h1>/.exec((await gateway.ask(path, { headers: { accept: "text/html,*/*", cookie } })).body)?.[1];
    const cookie = await gateway.signIn();
    const file = `/workspace/${gateway.sandboxId}/api/files/content?path=a`;
    expect(await title(file, "")).toBe("Open your workspace from where you found it");
    expect(await title(file, cookie)).toBe("The workspace does not answer");
    expect(await title(`/workspace/${gateway.sandboxId}/nothing`, cookie)).toBe("There is nothing here");
    gateway.become("paused");
    expect(await title(file, cookie)).toBe("Your workspace is paused");
  });

  it("is reached from our own pages only", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => response.end(`${request.method} ${request.url}`));
    const cookie = await gateway.signIn();
    const own = { cookie, origin: gateway.origin };
    const path = `/workspace/${gateway.sandboxId}/api/files/content?path=a%2Fb`;
    const ask = async (method: string, headers: Record<string, string>) => (await gateway.ask(path, { method, headers })).status;
    expect((await gateway.ask(path, { method: "PUT", headers: own, body: "x" })).body).toBe("PUT /files/content?path=a%2Fb");
    expect(await ask("GET", { cookie })).toBe(200);
    expect(await ask("GET", { cookie, "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await ask("GET", { cookie, "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await ask("GET", { cookie, "sec-fetch-dest": "script" })).toBe(403);
    expect(await ask("GET", { cookie, "service-worker": "script" })).toBe(403);
    expect(await ask("PUT", { cookie })).toBe(403);
    expect(await ask("PUT", { cookie, origin: "null" })).toBe(403);
    expect(await ask("PUT", { cookie, origin: `${gateway.origin}.evil.example` })).toBe(403);
    expect(await ask("PUT", { cookie, origin: "https://app.acme.example" })).toBe(403);
    expect(await ask("PUT", { origin: gateway.origin })).toBe(401);
    gateway.become("paused");
    expect(await ask("GET", own)).toBe(409);
  });
});

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

async function openStream(gateway: TestGateway, cookie: string): Promise<{ next(): Promise<string> }> {
  const asked = httpRequest({
    port: gateway.port,
    host: "127.0.0.1",
    path: `/workspace/${gateway.sandboxId}/session/stream`,
    headers: { cookie },
  });
  asked.end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  const parts = answer.setEncoding("utf8")[Symbol.asyncIterator]() as AsyncIterator<string>;
  return {
    async next() {
      const part = await parts.next();
      return part.done ? "end" : part.value.trim();
    },
  };
}
