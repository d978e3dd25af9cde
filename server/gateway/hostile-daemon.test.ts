import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { describeForwarder, type Outcome } from "@berth/contract/forwarding/forwarding.suite.ts";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { openGateway, type TestGateway } from "./testing/test-gateway.ts";
import type { Reply } from "./testing/test-requests.ts";
import { cookieFor, hostOf } from "./testing/test-preview.ts";

// Code in a sandbox may replace the daemon, so the gateway must survive any reply.

// undici reads a response up to its end and ignores the rest, ignores the reason, and allows no response before the one to a request that did not ask to continue.
const UNDICI: Record<string, Outcome> = {
  "a few interim answers first": "refused",
  "a reason phrase of 200 kB": "any",
  "more than its length": "any",
  "a body behind 204": "any",
  "chunks behind 304": "any",
};

const key = { "x-api-key": "good" };
const send = (gateway: TestGateway, path = "/files", method = "GET"): Promise<Reply> =>
  gateway.send(`/sandboxes/${gateway.sandboxId}${path}`, { method, headers: key });

describeForwarder("the gateway's relay to the daemon's API", async ({ accept }) => {
  const gateway = await openGateway();
  await gateway.serveRawDaemon(accept);
  const requestFor = (line: string) => `${line.replace(" ", ` /sandboxes/${gateway.sandboxId}`)} HTTP/1.1\r\nhost: x\r\nx-api-key: good`;
  return {
    connect: () => connect(gateway.port, "127.0.0.1"),
    requests: { get: requestFor("GET /files"), post: requestFor("POST /exec"), upgrade: requestFor("GET /events") },
    refusal: /^HTTP\/1\.1 502 [^]*\r\nx-error-code: sandbox_unreachable\r\n/i,
    exceptions: UNDICI,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
});

describeForwarder("a preview", async ({ accept }) => {
  const gateway = await openGateway();
  await gateway.serveRawDaemon(accept);
  const host = hostOf(gateway, 3000);
  const headers = `HTTP/1.1\r\nhost: ${host}\r\ncookie: ${await cookieFor(gateway, 3000)}\r\nsec-fetch-site: same-origin`;
  return {
    connect: () => connect(gateway.port, "127.0.0.1"),
    requests: { get: `GET / ${headers}`, post: `POST / ${headers}`, upgrade: `GET /hot ${headers}` },
    exceptions: UNDICI,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
});

describe("a hostile daemon", () => {
  test("cannot set cookies, redirect the caller, or send policies for our origin", async () => {
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
    const { status, headers } = await send(gateway);
    expect(status).toBe(302);
    for (const name of ["date", "connection", "keep-alive", "content-length"]) delete headers[name];
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

  test("cannot prompt for a password, or switch protocols without a request", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((_request, response) => response.writeHead(401, { "www-authenticate": "Basic" }).end());
    expect(await send(gateway)).toMatchObject({ status: 502, headers: { "x-error-code": "sandbox_unreachable" } });
    await gateway.serveRawDaemon((socket) =>
      socket.once("data", () => socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n")),
    );
    expect(await send(gateway)).toMatchObject({ status: 502 });
  });

  const misbehaviours: Record<string, (socket: Socket) => void> = {
    "headers that never end": (socket) => {
      socket.write("HTTP/1.1 200 OK\r\nx-a: ");
      const timer = setInterval(() => socket.write("a"), 10);
      socket.once("close", () => clearInterval(timer));
    },
    silence: () => {},
  };

  test.each(Object.entries(misbehaviours))("becomes a 502: %s", async (_name, misbehave) => {
    await using gateway = await openGateway({ headersTimeoutMs: 400 });
    await gateway.serveRawDaemon((socket) => socket.once("data", () => misbehave(socket)));
    expect(await send(gateway)).toMatchObject({ status: 502, headers: { "x-error-code": "sandbox_unreachable" } });
  });

  // A daemon with a full disk replies before it has read the upload. The next request follows on the same connection.
  test("cannot delay the next request by replying before it has read the body", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => {
      if (request.method === "PUT") response.writeHead(507, { "content-length": 0 }).end();
      else response.end("next");
    });
    const caller = connect(gateway.port, "127.0.0.1");
    let received = "";
    caller.on("data", (part: Buffer) => (received += part.toString()));
    const path = `/sandboxes/${gateway.sandboxId}/files/content`;
    const bytes = 8 * 1024 * 1024;
    caller.write(`PUT ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: good\r\ncontent-length: ${bytes}\r\n\r\n`);
    caller.write(Buffer.alloc(bytes));
    caller.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: good\r\nconnection: close\r\n\r\n`);
    await once(caller, "close", { signal: AbortSignal.timeout(10_000) });
    expect(received.match(/^HTTP\/1\.1 \d+/gm)).toEqual(["HTTP/1.1 507", "HTTP/1.1 200"]);
    expect(received).toContain("next");
  });

  test("cannot make an incomplete reply look complete", async () => {
    await using gateway = await openGateway();
    await gateway.serveRawDaemon((socket) => socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")));
    expect(await send(gateway)).toMatchObject({ status: 200, complete: false });
    await gateway.serveRawDaemon((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n")),
    );
    expect(await send(gateway)).toMatchObject({ status: 200, complete: false });
  });

  test("cannot smuggle a second reply into the next request", async () => {
    await using gateway = await openGateway();
    await gateway.serveRawDaemon((socket) =>
      socket.on("data", () =>
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil"),
      ),
    );
    for (let i = 0; i < 5; i++) expect(["ok", ""]).toContain((await send(gateway)).body.replace(/^\{.*\}$/s, ""));
  });

  test("cannot break the reply with invalid headers or trailers", async () => {
    await using gateway = await openGateway();
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: X-Exit-Code\r\netag: "\xff\xfe"\r\n\r\n';
    await gateway.serveRawDaemon((socket) =>
      socket.once("data", () =>
        socket.end(Buffer.from(`${head}2\r\nok\r\n0\r\nX-Exit-Code: 0 or so\r\nSet-Cookie: a=b\r\n\r\n`, "latin1")),
      ),
    );
    expect(await send(gateway)).toMatchObject({ status: 200, body: "ok", trailers: {} });
    await gateway.serveRawDaemon((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntrailer: X-Exit-Code\r\n\r\nok")),
    );
    expect(await send(gateway)).toMatchObject({ status: 200, body: "ok" });
  });

  test("breaks only its own socket if it sends garbage after an upgrade", async () => {
    await using gateway = await openGateway();
    await gateway.serveRawDaemon((socket) =>
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
    await gateway.serveDaemon((_request, response) => response.end("recovered"));
    expect((await send(gateway)).body).toBe("recovered");
  });

  test("cannot refuse an upgrade with an invalid status", async () => {
    await using gateway = await openGateway();
    for (const status of ["000", "099", "999"]) {
      await gateway.serveRawDaemon((socket) => socket.once("data", () => socket.end(`HTTP/1.1 ${status} x\r\ncontent-length: 0\r\n\r\n`)));
      const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/sandboxes/${gateway.sandboxId}/events`, { headers: key });
      socket.on("error", () => {});
      const [, answer] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
      expect(answer.statusCode).toBe(502);
      socket.terminate();
    }
  });

  test("cannot block an upload by not reading it", async () => {
    await using gateway = await openGateway({ headersTimeoutMs: 400 });
    await gateway.serveRawDaemon((socket) => void socket.pause());
    const response = await gateway.send(`/sandboxes/${gateway.sandboxId}/files/content?path=a`, {
      method: "PUT",
      headers: key,
      body: Buffer.alloc(20_000_000),
    });
    expect(response.status).toBe(502);
  });
});
