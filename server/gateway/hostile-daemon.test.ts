import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { openGateway, type Answer, type TestGateway } from "./testing/test-gateway.ts";

// A daemon that does its worst: whatever runs in a sandbox may have taken its place.

const key = { "x-api-key": "good" };
const ask = (gateway: TestGateway, path = "/files", method = "GET"): Promise<Answer> =>
  gateway.ask(`/sandboxes/${gateway.sandboxId}${path}`, { method, headers: key });

describe("a hostile daemon", () => {
  it("cannot set cookies, redirect, or say anything about our origin", async () => {
    await using gateway = await openGateway();
    const planted: Record<string, string> = {
      "access-control-allow-origin": "*",
      "alt-svc": 'h2="evil.example:443"',
      "clear-site-data": '"*"',
      "content-disposition": 'inline; filename="a.html"',
      "content-security-policy": "default-src *",
      "content-type": "text/html",
      link: "</evil.js>; rel=preload; as=script",
      location: "https://evil.example/",
      refresh: "0; url=https://evil.example/",
      "service-worker-allowed": "/",
      "set-cookie": "berth=stolen",
      sourcemap: "/evil",
      "strict-transport-security": "max-age=0",
      "www-authenticate": "Basic",
      "x-accel-redirect": "/etc/passwd",
      "x-frame-options": "ALLOWALL",
    };
    await gateway.serveDaemon((_request, response) => response.writeHead(302, planted).end("<script>alert(1)</script>"));
    const { status, headers } = await ask(gateway);
    expect(status).toBe(302);
    for (const name of ["date", "connection", "keep-alive", "transfer-encoding"]) delete headers[name];
    expect(headers).toEqual({
      "cache-control": "no-store",
      "content-disposition": 'attachment; filename="a.html"',
      "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
      "content-type": "text/html",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
  });

  it("cannot ask for a password, or switch protocols unasked", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((_request, response) => response.writeHead(401, { "www-authenticate": "Basic" }).end());
    expect(await ask(gateway)).toMatchObject({ status: 502, headers: { "x-error-code": "sandbox_unreachable" } });
    await gateway.serveRaw((socket) =>
      socket.once("data", () => socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n")),
    );
    expect(await ask(gateway)).toMatchObject({ status: 502 });
  });

  const nonsense: Record<string, (socket: Socket) => void> = {
    "no HTTP at all": (socket) => socket.write("\x00\x01\x02 nothing\r\n\r\n"),
    "an end before the answer": (socket) => socket.end(),
    "a status that is none": (socket) => socket.write("HTTP/1.1 99999 Huge\r\n\r\n"),
    "status 000": (socket) => socket.write("HTTP/1.1 000 x\r\ncontent-length: 0\r\n\r\n"),
    "status 999": (socket) => socket.write("HTTP/1.1 999 x\r\ncontent-length: 0\r\n\r\n"),
    "two lengths": (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello"),
    "a length and chunks": (socket) =>
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
    "too many headers": (socket) => socket.write(`HTTP/1.1 200 OK\r\n${"x-a: b\r\n".repeat(5000)}\r\n`),
    "interim answers without end": (socket) => {
      const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n"), 10);
      socket.once("close", () => clearInterval(timer));
    },
    "headers that never end": (socket) => {
      socket.write("HTTP/1.1 200 OK\r\nx-a: ");
      const timer = setInterval(() => socket.write("a"), 10);
      socket.once("close", () => clearInterval(timer));
    },
    silence: () => {},
  };

  it.each(Object.entries(nonsense))("is answered for with a 502: %s", async (_name, misbehave) => {
    await using gateway = await openGateway({ headersTimeoutMs: 400 });
    await gateway.serveRaw((socket) => socket.once("data", () => misbehave(socket)));
    expect(await ask(gateway)).toMatchObject({ status: 502, headers: { "x-error-code": "sandbox_unreachable" } });
  });

  // As a disk that is full answers an upload; the caller's next request comes over the same connection.
  it("cannot hold up the next request by answering before it has read the last one", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => {
      if (request.method === "PUT") response.writeHead(507, { "content-length": 0 }).end();
      else response.end("next");
    });
    const caller = connect(gateway.port, "127.0.0.1");
    let seen = "";
    caller.on("data", (part: Buffer) => (seen += part.toString()));
    const path = `/sandboxes/${gateway.sandboxId}/files/content`;
    const bytes = 8 * 1024 * 1024;
    caller.write(`PUT ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: good\r\ncontent-length: ${bytes}\r\n\r\n`);
    caller.write(Buffer.alloc(bytes));
    caller.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: good\r\nconnection: close\r\n\r\n`);
    await once(caller, "close", { signal: AbortSignal.timeout(10_000) });
    expect(seen.match(/^HTTP\/1\.1 \d+/gm)).toEqual(["HTTP/1.1 507", "HTTP/1.1 200"]);
    expect(seen).toContain("next");
  });

  it("cannot pass a part for the whole", async () => {
    await using gateway = await openGateway();
    await gateway.serveRaw((socket) => socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")));
    expect(await ask(gateway)).toMatchObject({ status: 200, complete: false });
    await gateway.serveRaw((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n")),
    );
    expect(await ask(gateway)).toMatchObject({ status: 200, complete: false });
  });

  it("cannot slip an answer into the next one", async () => {
    await using gateway = await openGateway();
    await gateway.serveRaw((socket) =>
      socket.on("data", () =>
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil"),
      ),
    );
    for (let i = 0; i < 5; i++) expect(["ok", ""]).toContain((await ask(gateway)).body.replace(/^\{.*\}$/s, ""));
  });

  it("cannot break an answer with its headers and trailers", async () => {
    await using gateway = await openGateway();
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: X-Exit-Code\r\netag: "\xff\xfe"\r\n\r\n';
    await gateway.serveRaw((socket) =>
      socket.once("data", () =>
        socket.end(Buffer.from(`${head}2\r\nok\r\n0\r\nX-Exit-Code: 0 or so\r\nSet-Cookie: a=b\r\n\r\n`, "latin1")),
      ),
    );
    expect(await ask(gateway)).toMatchObject({ status: 200, body: "ok", trailers: {} });
    await gateway.serveRaw((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntrailer: X-Exit-Code\r\n\r\nok")),
    );
    expect(await ask(gateway)).toMatchObject({ status: 200, body: "ok" });
  });

  it("is not read further than the caller reads", async () => {
    await using gateway = await openGateway();
    let sent = 0;
    await gateway.serveDaemon((_request, response) => {
      const block = Buffer.alloc(65_536);
      const more = () => {
        while (sent < 500_000_000 && response.write(block)) sent += block.length;
      };
      response.on("drain", more);
      more();
    });
    const before = process.memoryUsage().rss;
    const leave = new AbortController();
    const answer = await fetch(`http://127.0.0.1:${gateway.port}/sandboxes/${gateway.sandboxId}/files`, {
      headers: key,
      signal: leave.signal,
    });
    await expect
      .poll(async () => {
        const was = sent;
        await new Promise((done) => setTimeout(done, 200));
        return sent - was;
      })
      .toBe(0);
    expect(sent).toBeLessThan(60_000_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
    expect(answer.status).toBe(200);
    leave.abort();
  });

  it("harms only its own socket when it upgrades and then sends garbage", async () => {
    await using gateway = await openGateway();
    await gateway.serveRaw((socket) =>
      socket.once("data", () =>
        socket.write(
          Buffer.concat([
            Buffer.from(
              "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nset-cookie: a=b\r\nsec-websocket-accept: wrong\r\n\r\n",
            ),
            Buffer.alloc(1000, 0xff),
          ]),
        ),
      ),
    );
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/sandboxes/${gateway.sandboxId}/events`, { headers: key });
    const upgraded = once(socket, "upgrade");
    socket.on("error", () => {});
    const [answer] = (await upgraded) as [{ headers: Record<string, string> }];
    expect(answer.headers["set-cookie"]).toBeUndefined();
    await once(socket, "close");
    await gateway.serveDaemon((_request, response) => response.end("well again"));
    expect((await ask(gateway)).body).toBe("well again");
  });

  it("cannot refuse an upgrade with a status that is none", async () => {
    await using gateway = await openGateway();
    for (const status of ["000", "099", "999"]) {
      await gateway.serveRaw((socket) => socket.once("data", () => socket.end(`HTTP/1.1 ${status} x\r\ncontent-length: 0\r\n\r\n`)));
      const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/sandboxes/${gateway.sandboxId}/events`, { headers: key });
      socket.on("error", () => {});
      const [, answer] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
      expect(answer.statusCode).toBe(502);
      socket.terminate();
    }
  });

  it("does not hold an upload that it stops reading", async () => {
    await using gateway = await openGateway({ headersTimeoutMs: 400 });
    await gateway.serveRaw((socket) => void socket.pause());
    const answer = await gateway.ask(`/sandboxes/${gateway.sandboxId}/files/content?path=a`, {
      method: "PUT",
      headers: key,
      body: Buffer.alloc(20_000_000),
    });
    expect(answer.status).toBe(502);
  });
});
