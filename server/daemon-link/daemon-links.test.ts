import { createServer as createHttpServer, type RequestListener, type Server as HttpServer } from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AppError, type SandboxId } from "@berth/contract";
import { createDaemonLinks, type DaemonLinks } from "./daemon-links.ts";
import { silentLog } from "../log.ts";

const sandbox: SandboxId = "sbx_00000000000000000000000000";
let folder: string;
let socketPath: string;
let server: Server | HttpServer | undefined;
let links: DaemonLinks;
const sockets = new Set<Socket>();
const failures: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-link-"));
  socketPath = join(folder, "daemon.sock");
  links = openLinks();
  failures.length = 0;
});

afterEach(async () => {
  await links[Symbol.asyncDispose]();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  if (server?.listening) await new Promise((done) => server?.close(done));
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});

describe("a daemon link", () => {
  test("sends the token and streams the answer with its trailers", async () => {
    await serveHttp((request, response) => {
      response.setHeader("trailer", "x-exit-code");
      response.write(`${request.method} ${request.url} ${String(request.headers["x-berth-token"])}`);
      response.addTrailers({ "x-exit-code": "3" });
      response.end();
    });
    const answer = await links.request(sandbox, { method: "GET", path: "/exec?a=%20" });
    expect(await text(answer.body)).toBe("GET /exec?a=%20 secret");
    expect(answer.trailers).toMatchObject({ "x-exit-code": "3" });
  });

  test("reuses its connections", async () => {
    await serveHttp((_request, response) => response.end("ok"));
    let dialled = 0;
    server!.on("connection", () => dialled++);
    for (let i = 0; i < 20; i++) await text((await links.request(sandbox, { method: "GET", path: "/health" })).body);
    expect(dialled).toBeLessThanOrEqual(2);
  });

  test("prepares a daemon over a connection that the first request then uses alone", async () => {
    const paths: string[] = [];
    await serveHttp((request, response) => {
      paths.push(request.url!);
      response.end("ok");
    });
    let dialled = 0;
    server!.on("connection", () => dialled++);
    const preparing = links.prepare(sandbox, { env: {}, agent: null, autoStartAgent: false });
    expect(links.isPrepared(sandbox)).toBe(false);
    await preparing;
    expect([links.isPrepared(sandbox), paths, dialled]).toEqual([true, ["/internal/start", "/exec"], 1]);
    const [first, second] = [1, 2].map(() => links.request(sandbox, { method: "GET", path: "/health" }));
    expect(links.isPrepared(sandbox)).toBe(false);
    await text((await first!).body);
    await text((await second!).body);
    expect(dialled).toBe(2);
  });

  test("is not prepared any more when the daemon closes the connection", async () => {
    await serveHttp((_request, response) => response.end("ok"));
    await links.prepare(sandbox, { env: {}, agent: null, autoStartAgent: false });
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => links.isPrepared(sandbox)).toBe(false);
    await text((await links.request(sandbox, { method: "GET", path: "/health" })).body);
  });

  test("is dropped when its last connection closes", async () => {
    let asked = 0;
    links = openLinks({
      tokenOf: () => {
        asked++;
        return "secret";
      },
    });
    await serveHttp((_request, response) => response.end("ok"));
    const ask = async () => text((await links.request(sandbox, { method: "GET", path: "/health" })).body);
    await ask();
    await ask();
    expect(asked).toBe(1);
    // A request that is sent before the link notices the close opens a new connection, which must close too.
    const askAfterTheEnd = async () => {
      await Promise.all([...sockets].filter((socket) => !socket.closed).map((socket) => once(socket.end(), "close")));
      await ask();
      return asked;
    };
    await expect.poll(askAfterTheEnd).toBeGreaterThan(1);
  });

  test("reports the sandbox as unreachable when nothing listens", async () => {
    expect(await failureOf(links.request(sandbox, { method: "GET", path: "/health" }))).toBe("sandbox_unreachable");
  });

  test("fails when the daemon accepts the connection and never answers", async () => {
    links = openLinks({ headersTimeoutMs: 300 });
    await serveRaw(() => {});
    expect(await failureOf(links.request(sandbox, { method: "GET", path: "/health" }))).toBe("sandbox_unreachable");
    expect(await failureOf(links.upgrade(sandbox, { path: "/events", headers: {} }))).toBe("sandbox_unreachable");
  });

  test("fails at its deadline while the daemon floods it with interim answers", async () => {
    links = openLinks({ headersTimeoutMs: 300 });
    await serveRaw((socket) => {
      const timer = setInterval(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), 20);
      socket.on("close", () => clearInterval(timer));
    });
    expect(await failureOf(links.request(sandbox, { method: "GET", path: "/health" }))).toBe("sandbox_unreachable");
    expect(await failureOf(links.upgrade(sandbox, { path: "/events", headers: {} }))).toBe("sandbox_unreachable");
  });

  test("refuses headers without end", async () => {
    await serveRaw(endless);
    expect(await failureOf(links.request(sandbox, { method: "GET", path: "/health" }))).toBe("sandbox_unreachable");
    expect(await failureOf(links.upgrade(sandbox, { path: "/events", headers: {} }))).toBe("sandbox_unreachable");
  });

  test("refuses an answer that is not HTTP", async () => {
    await serveRaw((socket) => socket.write("\x00\xff hello\r\n\r\n"));
    expect(await failureOf(links.request(sandbox, { method: "GET", path: "/health" }))).toBe("sandbox_unreachable");
    expect(await failureOf(links.upgrade(sandbox, { path: "/events", headers: {} }))).toBe("sandbox_unreachable");
  });

  test("applies back-pressure to an answer that the caller does not read", async () => {
    let sent = 0;
    await serveRaw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n");
      const block = Buffer.alloc(64 * 1024);
      const more = () => {
        while (socket.write(block)) sent += block.length;
      };
      socket.on("drain", more);
      socket.once("data", more);
    });
    const answer = await links.request(sandbox, { method: "GET", path: "/files/content?path=big" });
    await once(answer.body, "readable");
    let before = -1;
    await expect.poll(() => before === (before = sent), { interval: 100 }).toBe(true);
    expect(sent).toBeLessThan(4_000_000);
    answer.body.destroy();
  });

  test("fails requests in flight when the sandbox is forgotten, and serves the next one", async () => {
    let silent = true;
    const asked = Promise.withResolvers<void>();
    await serveHttp((_request, response) => (silent ? asked.resolve() : response.end("back")));
    const waiting = links.request(sandbox, { method: "GET", path: "/health" });
    const failure = failureOf(waiting);
    await asked.promise;
    links.forget(sandbox);
    expect(await failure).toBe("sandbox_unreachable");
    silent = false;
    expect(await text((await links.request(sandbox, { method: "GET", path: "/health" })).body)).toBe("back");
  });

  test("closes streamed answers and upgraded connections when the sandbox is forgotten", async () => {
    await serveHttp((_request, response) => void response.write("begun"));
    server!.on("upgrade", (_request, socket: Socket) => {
      sockets.add(socket);
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    });
    const answer = await links.request(sandbox, { method: "GET", path: "/exec", bodyTimeoutMs: 0 });
    const upgraded = await links.upgrade(sandbox, { path: "/events", headers: {} });
    if (!("socket" in upgraded)) throw new Error("refused");
    const closed = once(upgraded.socket, "close");
    links.forget(sandbox);
    expect(await failureOf(text(answer.body))).toBe("sandbox_unreachable");
    await closed;
  });

  test("returns the status and the body of a refused upgrade", async () => {
    await serveHttp((_request, response) => {
      response.statusCode = 404;
      response.end('{"error":"no such terminal"}');
    });
    const answer = await links.upgrade(sandbox, { path: "/terminals/x", headers: {} });
    expect(answer).toMatchObject({ refused: { status: 404, body: '{"error":"no such terminal"}' } });
  });

  test.each(["000 x", "099 x", "200 OK", "304 Not Modified", "999 x"])("reports an upgrade answered with %s as 502", async (status) => {
    await serveRaw((socket) => socket.once("data", () => socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`)));
    expect(await links.upgrade(sandbox, { path: "/events", headers: {} })).toMatchObject({ refused: { status: 502 } });
  });

  test("closes only the connection whose bytes make a listener throw", async () => {
    await serveHttp((_request, response) => void response.write("begun"));
    server!.on("upgrade", (_request, socket: Socket) => {
      sockets.add(socket);
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nbytes");
    });
    const fault = () => {
      throw new Error("a bug in a listener");
    };
    const upgraded = await links.upgrade(sandbox, { path: "/events", headers: {} });
    const answer = await links.request(sandbox, { method: "GET", path: "/exec", bodyTimeoutMs: 0 });
    if (!("socket" in upgraded)) throw new Error("refused");
    upgraded.socket.unshift(upgraded.head);
    for (const stream of [upgraded.socket, answer.body]) {
      const closed = new Promise((resolve) => stream.once("close", resolve));
      stream.on("data", fault);
      await closed;
    }
    expect(failures).toEqual(["connection.failed", "connection.failed"]);
    expect((await links.request(sandbox, { method: "GET", path: "/health", bodyTimeoutMs: 0 })).status).toBe(200);
  });

  test("rejects with the AppError of a failing request body", async () => {
    await serveHttp((request, response) => void request.resume().on("end", () => response.end()));
    const body = new Readable({ read() {} });
    const failure = failureOf(links.request(sandbox, { method: "PUT", path: "/files/content?path=a", body }));
    body.push("some");
    setImmediate(() => body.destroy(new AppError("body_too_large")));
    expect(await failure).toBe("body_too_large");
  });

  test("rejects with the reason of an aborted signal", async () => {
    await serveRaw(() => {});
    const gone = new AbortController();
    const failure = failureOf(links.request(sandbox, { method: "GET", path: "/health", signal: gone.signal }));
    gone.abort(new Error("the caller left"));
    expect(await failure).toBe("the caller left");
  });

  test("posts the start request to the daemon, and fails when the daemon refuses it", async () => {
    const bodies: string[] = [];
    await serveHttp((request, response) => {
      let body = "";
      request.on("data", (part) => (body += part));
      request.on("end", () => {
        bodies.push(`${request.url} ${body}`);
        response.statusCode = bodies.length === 1 ? 200 : 500;
        response.end("{}");
      });
    });
    const start = { env: { A: "1" }, agent: null, autoStartAgent: false };
    await links.start(sandbox, start);
    expect(bodies[0]).toBe(`/internal/start ${JSON.stringify(start)}`);
    expect(await failureOf(links.stop(sandbox))).toBe("sandbox_unreachable");
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

// The default deadline is long, because test machines may be slow. Tests of deadlines set a short one.
function openLinks({ tokenOf = () => "secret", headersTimeoutMs = 20_000 } = {}): DaemonLinks {
  return createDaemonLinks({
    driver: {
      async dial() {
        const socket = connect(socketPath);
        await once(socket, "connect");
        return socket;
      },
    },
    tokenOf,
    log: { ...silentLog, error: (event) => void failures.push(event) },
    headersTimeoutMs,
  });
}

async function serveHttp(listener: RequestListener): Promise<void> {
  server = createHttpServer(listener);
  server.on("connection", (socket) => sockets.add(socket));
  await once(server.listen(socketPath), "listening");
}

async function serveRaw(listener: (socket: Socket) => void): Promise<void> {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    listener(socket);
  });
  await once(server.listen(socketPath), "listening");
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "none";
  } catch (error) {
    if (error instanceof AppError) return error.code;
    return error instanceof Error ? error.message : String(error);
  }
}
