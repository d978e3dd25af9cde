import { once } from "node:events";
import { statSync } from "node:fs";
import { connect, createServer as createTcpServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { newId, type SandboxId } from "@berth/contract";
import { expect, test } from "vitest";
import { listen, PUBLIC, requestBytes, useTestEgress } from "./testing/use-test-egress.ts";

const { id, current, open, get, tunnel, statusOfTunnel, pipelined, socketPath } = useTestEgress();

const isAway = () => !statSync(socketPath(), { throwIfNoEntry: false });

test("a target that accepts the connection and sends nothing times out", async () => {
  const silent = createTcpServer(() => {});
  const port = await listen(silent);
  await open(PUBLIC, { allow: [`127.0.0.1:${port}`], idleTimeoutMs: 200 });
  const answer = await get(`http://127.0.0.1:${port}/`).finally(() => silent.close());
  expect(answer).toMatchObject({ status: 502 });
});

test("a sandbox has a bounded number of connections to its proxy", async () => {
  await open(PUBLIC, { maxConnections: 4 });
  const sockets = Array.from({ length: 8 }, () => connect(socketPath()).on("error", () => {}));
  await expect.poll(() => sockets.filter((socket) => socket.closed).length).toBe(4);
  for (const socket of sockets) socket.destroy();
});

test("a refused tunnel is closed when its caller leaves, although the caller's bytes were never read", async () => {
  await open(PUBLIC, { maxConnections: 2 });
  for (let i = 0; i < 5; i++) {
    const caller = connect(socketPath());
    caller.write(`CONNECT 10.0.0.1:443 HTTP/1.1\r\n\r\n${"x".repeat(200_000)}`);
    expect(String(await once(caller, "data"))).toContain("403");
    caller.destroy();
  }
  await expect
    .poll(() => get(`http://127.0.0.1:${current.webPort}/`).catch(() => undefined), { timeout: 5_000 })
    .toMatchObject({ status: 200 });
});

test("a sandbox that floods its socket is locked out, and is served again after a while", async () => {
  const flood = () => Array.from({ length: 200 }, () => connect(socketPath()).on("error", () => {}));
  await open(PUBLIC, { maxPerSecond: 20, floodRestMs: 600_000 });
  let sockets = flood();
  await expect.poll(isAway).toBe(true);
  for (const socket of sockets) socket.destroy();
  await current.egress[Symbol.asyncDispose]();
  await open(PUBLIC, { maxPerSecond: 20, floodRestMs: 200 });
  sockets = flood();
  await expect.poll(() => sockets.some(({ closed }) => closed)).toBe(true);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => get(`http://127.0.0.1:${current.webPort}/`).catch(() => undefined)).toMatchObject({ status: 200 });
});

// Node would answer the last two itself.
test.each(["host: x\r\n", "host: x\r\nexpect: something\r\n", ""])(
  "each request on a connection counts against the flood limit, whatever its headers (%j)",
  async (headers) => {
    await open(PUBLIC, { maxPerSecond: 20, floodRestMs: 600_000, onRelay: (_request, response) => Boolean(response.end()) });
    const tunnelled = await tunnel(`127.0.0.1:${current.webPort}`);
    const answers = await pipelined(Array.from({ length: 1000 }, () => requestBytes("/model/x", headers)));
    expect(answers.length).toBeLessThanOrEqual(20);
    expect(isAway()).toBe(true);
    // Tunnels stay open.
    tunnelled.socket.end("GET /x HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n");
    expect(await text(tunnelled.socket)).toContain("x-seen-host: me");
  },
);

test("a flood closes the sandbox's other connections, which may hold as many unread requests", async () => {
  await open(PUBLIC, { maxPerSecond: 20, onRelay: () => true });
  const other = connect(socketPath()).on("error", () => {});
  other.write(requestBytes("/model/x"));
  const closed = once(other, "close");
  await pipelined(Array.from({ length: 100 }, () => requestBytes("/model/x")));
  await closed;
});

test("a refusal is the last answer on its connection", async () => {
  await open(PUBLIC);
  let served = 0;
  current.web.on("request", () => void served++);
  const good = requestBytes(`http://127.0.0.1:${current.webPort}/`);
  expect(await pipelined([good, requestBytes("http://8.8.8.8:25/"), good, good])).toEqual([200, 403]);
  expect(await pipelined([requestBytes("/elsewhere"), good])).toEqual([404]);
  expect(served).toBe(1);
});

// apt pipelines its requests.
test("pipelined requests are answered in order", async () => {
  await open(PUBLIC);
  const url = `http://127.0.0.1:${current.webPort}/`;
  expect(await pipelined([requestBytes(url), requestBytes(url), requestBytes(url), requestBytes(url, "connection: close\r\n")])).toEqual([
    200, 200, 200, 200,
  ]);
});

test("a request whose headers do not arrive times out", async () => {
  await open(PUBLIC, { headersTimeoutMs: 200 });
  const slow = connect(socketPath());
  slow.write("GET http://a/ HTTP/1.1\r\nX: ");
  await expect.poll(() => slow.closed || slow.readableEnded || slow.destroyed).toBe(true);
});

test("no sandbox can take all outgoing connections", async () => {
  await open(PUBLIC, { maxOutside: 8 });
  const neighbour = newId("sbx", 2);
  await current.egress.open(neighbour, { egress: PUBLIC });
  const held: Socket[] = [];
  const takeUntilRefused = async (sandboxId: SandboxId) => {
    for (let taken = 0; ; taken++) {
      const { status, socket } = await tunnel(`127.0.0.1:${current.webPort}`, sandboxId);
      held.push(socket);
      if (status !== 200) return { taken, status };
    }
  };
  expect(await takeUntilRefused(id)).toEqual({ taken: 4, status: 503 });
  expect(await takeUntilRefused(neighbour)).toEqual({ taken: 2, status: 503 });
  for (const socket of held) socket.destroy();
});

test("pipelined requests get no more outgoing connections than others", async () => {
  await open(PUBLIC, { maxOutside: 8 });
  current.web.removeAllListeners("request");
  let reached = 0;
  const full = Promise.withResolvers<void>();
  current.web.on("request", () => void (++reached === 4 && full.resolve()));
  const socket = connect(socketPath()).on("error", () => {});
  socket.write(requestBytes(`http://127.0.0.1:${current.webPort}/`).repeat(20));
  await full.promise;
  expect(await statusOfTunnel(`127.0.0.1:${current.webPort}`)).toBe(503);
  expect(reached).toBe(4);
  socket.destroy();
});

test("a caller that disconnects while its target is dialled frees its connection slot at once", async () => {
  const dialling = Promise.withResolvers<void>();
  const resolve = () => {
    dialling.resolve();
    return new Promise<string[]>(() => {});
  };
  await open(PUBLIC, { maxOutside: 1, resolve, dialTimeoutMs: 600_000 });
  const leaving = connect(socketPath());
  leaving.write(requestBytes("http://slow.example/"));
  await dialling.promise;
  expect(await statusOfTunnel(`127.0.0.1:${current.webPort}`)).toBe(503);
  leaving.destroy();
  await expect.poll(() => statusOfTunnel(`127.0.0.1:${current.webPort}`)).toBe(200);
});

test("all sandboxes together have a bounded number of outgoing connections", async () => {
  await open(PUBLIC, { maxOutside: 1 });
  const first = await tunnel(`127.0.0.1:${current.webPort}`);
  expect(await statusOfTunnel(`127.0.0.1:${current.webPort}`)).toBe(503);
  first.socket.destroy();
  await expect.poll(() => statusOfTunnel(`127.0.0.1:${current.webPort}`)).toBe(200);
});

test("names that never resolve delay no other request", async () => {
  await open(PUBLIC, { resolve: () => new Promise(() => {}), dialTimeoutMs: 3000 });
  const stuck = Array.from({ length: 50 }, (_, index) => statusOfTunnel(`slow${index}.example:443`));
  expect(await get(`http://127.0.0.1:${current.webPort}/`)).toMatchObject({ status: 200 });
  expect(new Set(await Promise.all(stuck))).toEqual(new Set([403]));
});

test("a sandbox resolves a bounded number of names at once, even if it does not wait for them", async () => {
  const unanswered: (() => void)[] = [];
  const resolve = (host: string) =>
    host === "known.example" ? Promise.resolve(["127.0.0.1"]) : new Promise<string[]>((done) => unanswered.push(() => done([])));
  await open(PUBLIC, { resolve, dialTimeoutMs: 600_000 });
  const neighbour = newId("sbx", 2);
  await current.egress.open(neighbour, { egress: PUBLIC });
  for (let asked = 1; asked <= 64; asked++) {
    const leaving = connect(socketPath());
    leaving.write(requestBytes(`http://slow${asked}.example/`));
    await expect.poll(() => unanswered.length).toBe(asked);
    leaving.destroy();
  }
  expect(await statusOfTunnel("one-more.example:443")).toBe(503);
  const { status, socket } = await tunnel(`known.example:${current.webPort}`, neighbour);
  socket.destroy();
  expect(status).toBe(200);
  for (const answer of unanswered) answer();
  await expect.poll(() => statusOfTunnel(`known.example:${current.webPort}`)).toBe(200);
});
