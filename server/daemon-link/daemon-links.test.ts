import { once } from "node:events";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AppError } from "@berth/contract";
import { plainSpan } from "../tracing/span.ts";
import { formatTraceparent } from "../tracing/trace-context.ts";
import type { DaemonLinks } from "./daemon-links.ts";
import { takeWhole } from "./link-exchange.ts";
import { createLinkedDaemon, failureOf, SANDBOX, type LinkedDaemon } from "./testing/linked-daemon.ts";

let daemon: LinkedDaemon;
let links: DaemonLinks;
beforeEach(() => {
  daemon = createLinkedDaemon();
  links = daemon.openLinks();
});
afterEach(() => daemon[Symbol.asyncDispose]());

describe("a daemon link", () => {
  test("sends the token and streams the response with its trailers", async () => {
    await daemon.serveHttp((request, response) => {
      response.setHeader("trailer", "x-exit-code");
      response.write(`${request.method} ${request.url} ${String(request.headers["x-berth-token"])}`);
      response.addTrailers({ "x-exit-code": "3" });
      response.end();
    });
    const answer = await links.request(SANDBOX, { method: "GET", path: "/exec?a=%20" });
    expect(await text(answer.body)).toBe("GET /exec?a=%20 secret");
    expect(answer.trailers).toMatchObject({ "x-exit-code": "3" });
  });

  test("a body can be taken at once if it has come whole, and otherwise is a stream", async () => {
    let rest: (() => void) | undefined;
    await daemon.serveHttp((request, response) => {
      response.write("begun");
      if (request.url === "/whole") response.end(" and over");
      else rest = () => response.end(", later over");
    });
    const ask = async (path: string) => (await links.request(SANDBOX, { method: "GET", path })).body;
    const whole = await ask("/whole");
    const closed = once(whole, "close");
    expect([String(takeWhole(whole)), takeWhole(whole)]).toEqual(["begun and over", null]);
    await closed;
    const part = await ask("/part");
    expect(takeWhole(part)).toBeNull();
    rest!();
    expect(await text(part)).toBe("begun, later over");
  });

  test("reuses its connections", async () => {
    const server = await daemon.serveHttp((_request, response) => response.end("ok"));
    let dialled = 0;
    server.on("connection", () => dialled++);
    for (let i = 0; i < 20; i++) await text((await links.request(SANDBOX, { method: "GET", path: "/health" })).body);
    expect(dialled).toBeLessThanOrEqual(2);
  });

  test("prepares a daemon over a connection that the session then uses, one request at a time", async () => {
    const paths: string[] = [];
    const server = await daemon.serveHttp((request, response) => {
      paths.push(request.url!);
      response.end("ok");
    });
    let dialled = 0;
    server.on("connection", () => dialled++);
    const preparing = links.prepare(SANDBOX, { env: {}, agent: null, autoStartAgent: false });
    expect(links.isPrepared(SANDBOX)).toBe(false);
    await preparing;
    expect([links.isPrepared(SANDBOX), paths, dialled]).toEqual([true, ["/internal/start", "/exec", "/internal/rehearse", "/exec"], 1]);
    const [first, second] = [1, 2].map(() => links.request(SANDBOX, { method: "GET", path: "/health" }));
    expect(links.isPrepared(SANDBOX)).toBe(false);
    await text((await first!).body);
    await text((await second!).body);
    expect(dialled).toBe(2);
    for (let i = 0; i < 5; i++) await text((await links.request(SANDBOX, { method: "GET", path: "/health" })).body);
    expect(dialled).toBe(2);
  });

  test("is not prepared any more when the daemon closes the connection", async () => {
    await daemon.serveHttp((_request, response) => response.end("ok"));
    await links.prepare(SANDBOX, { env: {}, agent: null, autoStartAgent: false });
    for (const socket of daemon.sockets) socket.destroy();
    await expect.poll(() => links.isPrepared(SANDBOX)).toBe(false);
    await text((await links.request(SANDBOX, { method: "GET", path: "/health" })).body);
  });

  test("is dropped when its last connection closes", async () => {
    let asked = 0;
    links = daemon.openLinks({
      tokenOf: () => {
        asked++;
        return "secret";
      },
    });
    await daemon.serveHttp((_request, response) => response.end("ok"));
    const ask = async () => text((await links.request(SANDBOX, { method: "GET", path: "/health" })).body);
    await ask();
    await ask();
    expect(asked).toBe(1);
    // A request that is sent before the link notices the close opens a new connection, which must close too.
    const askAfterTheEnd = async () => {
      await Promise.all([...daemon.sockets].filter((socket) => !socket.closed).map((socket) => once(socket.end(), "close")));
      await ask();
      return asked;
    };
    await expect.poll(askAfterTheEnd).toBeGreaterThan(1);
  });

  test("reports the sandbox as unreachable when nothing listens", async () => {
    expect(await failureOf(links.request(SANDBOX, { method: "GET", path: "/health" }))).toBe("sandbox_unreachable");
  });

  test("fails requests in flight when the sandbox is forgotten, and serves the next one", async () => {
    let silent = true;
    const asked = Promise.withResolvers<void>();
    await daemon.serveHttp((_request, response) => (silent ? asked.resolve() : response.end("back")));
    const waiting = links.request(SANDBOX, { method: "GET", path: "/health" });
    const failure = failureOf(waiting);
    await asked.promise;
    links.forget(SANDBOX);
    expect(await failure).toBe("sandbox_unreachable");
    silent = false;
    expect(await text((await links.request(SANDBOX, { method: "GET", path: "/health" })).body)).toBe("back");
  });

  test("closes streamed answers and upgraded connections when the sandbox is forgotten", async () => {
    const server = await daemon.serveHttp((_request, response) => void response.write("begun"));
    server.on("upgrade", (_request, socket: Socket) => {
      daemon.sockets.add(socket);
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    });
    const answer = await links.request(SANDBOX, { method: "GET", path: "/exec", bodyTimeoutMs: 0 });
    const upgraded = await links.upgrade(SANDBOX, { path: "/events", headers: {} });
    if (!("socket" in upgraded)) throw new Error("refused");
    const closed = once(upgraded.socket, "close");
    links.forget(SANDBOX);
    expect(await failureOf(text(answer.body))).toBe("sandbox_unreachable");
    await closed;
  });

  test("returns the status and the body of a refused upgrade", async () => {
    await daemon.serveHttp((_request, response) => {
      response.statusCode = 404;
      response.end('{"error":"no such terminal"}');
    });
    const answer = await links.upgrade(SANDBOX, { path: "/terminals/x", headers: {} });
    expect(answer).toMatchObject({ refused: { status: 404, body: '{"error":"no such terminal"}' } });
  });

  test("rejects with the AppError of a failing request body", async () => {
    await daemon.serveHttp((request, response) => void request.resume().on("end", () => response.end()));
    const body = new Readable({ read() {} });
    const failure = failureOf(links.request(SANDBOX, { method: "PUT", path: "/files/content?path=a", body }));
    body.push("some");
    setImmediate(() => body.destroy(new AppError("body_too_large")));
    expect(await failure).toBe("body_too_large");
  });

  test("rejects with the reason of an aborted signal", async () => {
    await daemon.serveRaw(() => {});
    const gone = new AbortController();
    const failure = failureOf(links.request(SANDBOX, { method: "GET", path: "/health", signal: gone.signal }));
    gone.abort(new Error("the caller left"));
    expect(await failure).toBe("the caller left");
  });

  test("the daemon learns of the request's trace", async () => {
    const seen: unknown[] = [];
    await daemon.serveHttp((request, response) => {
      seen.push(request.headers.traceparent);
      response.end("{}");
    });
    const span = plainSpan({ traceId: "a".repeat(32), spanId: "b".repeat(16), isSampled: true });
    await links.start(SANDBOX, { env: {}, agent: null, autoStartAgent: false }, { span });
    await text((await links.request(SANDBOX, { method: "GET", path: "/health", span })).body);
    await text((await links.request(SANDBOX, { method: "GET", path: "/health" })).body);
    expect(seen).toEqual([formatTraceparent(span), formatTraceparent(span), undefined]);
  });

  test("posts the start request to the daemon, and fails when the daemon refuses it", async () => {
    const bodies: string[] = [];
    await daemon.serveHttp((request, response) => {
      let body = "";
      request.on("data", (part) => (body += part));
      request.on("end", () => {
        bodies.push(`${request.url} ${body}`);
        response.statusCode = bodies.length === 1 ? 200 : 500;
        response.end("{}");
      });
    });
    const start = { env: { A: "1" }, agent: null, autoStartAgent: false };
    await links.start(SANDBOX, start);
    expect(bodies[0]).toBe(`/internal/start ${JSON.stringify(start)}`);
    expect(await failureOf(links.stop(SANDBOX))).toBe("sandbox_unreachable");
  });
});
