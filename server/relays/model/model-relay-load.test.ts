import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { MINUTE } from "../../clock.ts";
import { createTestClock } from "../../testing/test-clock.ts";
import { longestTurnMs } from "./testing/measure-turns.ts";
import { startTestRelay, type TestRelay, type TestRelayOptions, type TestSandbox } from "./testing/start-relay.ts";

const MiB = 1024 * 1024;
const CHAT = "/model/openai/v1/chat/completions";

const closing: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).toReversed()) await each[Symbol.asyncDispose]();
});

// A provider that discards bodies, unless `take` handles them.
async function startProvider(take = async (request: IncomingMessage) => void (await drain(request))) {
  const bodies: number[] = [];
  const server: Server = createServer((request, response) => {
    bodies.push(Number(request.headers["content-length"]));
    void take(request).then(() => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push({
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}

const drain = (request: IncomingMessage) => once(request.resume(), "end");

async function startRelay(options: Partial<TestRelayOptions> = {}): Promise<TestRelay> {
  const relay = await startTestRelay({ upstreamUrl: (await startProvider()).url, ...options });
  closing.push(relay);
  return relay;
}

const messages = (bytes: number) => `{"messages":[{"role":"user","content":"${"x".repeat(bytes)}"}]}`;

// Starts an upload and sends only `bytes` of the announced body.
function beginUpload(sandbox: TestSandbox, body: string | Buffer, bytes: number): { socket: Socket; finish(): Promise<string> } {
  const socket = sandbox.connect();
  socket.on("error", () => {});
  socket.write(
    `POST ${CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${sandbox.token}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`,
  );
  socket.write(Buffer.from(body).subarray(0, bytes));
  return {
    socket,
    async finish() {
      socket.write(Buffer.from(body).subarray(bytes));
      return firstLine(socket);
    },
  };
}

async function firstLine(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text.split("\r\n")[0]!;
}

describe("the model relay under load", () => {
  test.each([
    ["empty lists", `{"messages":[${"[],".repeat((2 * MiB) / 3 - 20)}[]]}`],
    ["small messages", `{"messages":[${'{"role":"user","content":"hello"},'.repeat((2 * MiB) / 34 - 10)}0]}`],
    ["one long text", messages(2 * MiB - 100)],
    ["escapes", `{"messages":["${"\\n".repeat(MiB - 50)}"]}`],
    ["a fault at the end", `{"messages":[${"{},".repeat((2 * MiB) / 3 - 20)}{}}`],
  ])("never holds the event loop for long: 2 MiB of %s", async (_name, body) => {
    const sandbox = await (await startRelay()).addSandbox();
    const sent = Buffer.from(body);
    const work = async () => expect((await sandbox.ask(CHAT, sent)).status).toBe(body.endsWith("{}}") ? 400 : 200);
    expect(await longestTurnMs(work, { limitMs: 50 })).toBeLessThan(50);
  });

  test("accepts bodies up to the configured size", async () => {
    const provider = await startProvider();
    const sandbox = await (await startRelay({ upstreamUrl: provider.url, config: { modelMaxBodyMb: 2 } })).addSandbox();
    expect((await sandbox.ask(CHAT, messages(2 * MiB - 100))).status).toBe(200);
    const refused = await sandbox.ask(CHAT, messages(2 * MiB));
    expect([refused.status, refused.text]).toEqual([413, expect.stringContaining("larger than 2 MiB")]);
    // Also if the size is not announced.
    const authorization = `Bearer ${sandbox.token}`;
    const socket = sandbox.connect();
    socket.on("error", () => {});
    socket.write(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    for (let i = 0; i < 3; i++) socket.write(`100000\r\n${" ".repeat(MiB)}\r\n`);
    expect(await firstLine(socket)).toContain("413");
    expect(provider.bodies.length).toBe(1);
  });

  test("reads one body of a sandbox at a time", async () => {
    const provider = await startProvider();
    const relay = await startRelay({ upstreamUrl: provider.url });
    const [sandbox, other] = [await relay.addSandbox(), await relay.addSandbox()];
    const slow = beginUpload(sandbox, messages(1000), 500);
    expect((await other.ask(CHAT, messages(3000))).status).toBe(200);
    const waiting = sandbox.ask(CHAT, messages(2000));
    expect((await other.ask(CHAT, messages(4000))).status).toBe(200);
    expect(await slow.finish()).toContain("200");
    expect((await waiting).status).toBe(200);
    expect(provider.bodies.map((bytes) => Math.floor(bytes / 1000))).toEqual([3, 4, 1, 2]);
  });

  test("delays the next body of a sandbox until the provider has received the current one", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const provider = await startProvider(async (request) => {
      if (Number(request.headers["content-length"]) > 3 * MiB) await released;
      await drain(request);
    });
    const relay = await startRelay({ upstreamUrl: provider.url });
    const [sandbox, other] = [await relay.addSandbox(), await relay.addSandbox()];
    const stuck = sandbox.ask(CHAT, messages(4 * MiB - 100));
    await expect.poll(() => provider.bodies.length).toBe(1);
    const next = sandbox.ask(CHAT, messages(10));
    expect((await other.ask(CHAT, messages(20))).status).toBe(200);
    expect(provider.bodies.length).toBe(2);
    release();
    expect((await stuck).status).toBe(200);
    expect((await next).status).toBe(200);
  });

  test("serves the next caller when a waiting one disconnects", async () => {
    const relay = await startRelay();
    const sandbox = await relay.addSandbox();
    const first = beginUpload(sandbox, messages(1000), 500);
    await once(first.socket, "connect");
    const second = beginUpload(sandbox, messages(1000), 2000);
    await once(second.socket, "connect");
    second.socket.destroy();
    first.socket.destroy();
    expect((await sandbox.ask(CHAT, messages(10))).status).toBe(200);
  });

  test("times out a stalled upload, and then serves the next one", async () => {
    const sandbox = await (await startRelay({ bodyTimeoutMs: 300 })).addSandbox();
    const stopped = beginUpload(sandbox, messages(1000), 500);
    const next = sandbox.ask(CHAT, messages(10));
    expect(await firstLine(stopped.socket)).toContain("408");
    expect((await next).status).toBe(200);
  });

  test("serves other sandboxes while 16 uploads of one sandbox stall", async () => {
    const relay = await startRelay({ config: { modelMaxBodyMb: 4, modelRatePerMinute: 0 } });
    const [hostile, victim] = [await relay.addSandbox(), await relay.addSandbox()];
    const body = Buffer.from(messages(4 * MiB - 100));
    const stopped = Array.from({ length: 16 }, () => beginUpload(hostile, body, body.length - 1));
    const statuses = new Set<unknown>();
    // Long enough for a relay that would read them all.
    for (let i = 0; i < 20; i++) statuses.add((await victim.ask(CHAT, messages(2 * MiB))).status);
    expect([...statuses]).toEqual([200]);
    for (const { socket } of stopped) socket.destroy();
  });

  test("counts refused requests, so that a flood of them uses up only the sandbox's own rate", async () => {
    const clock = createTestClock();
    const relay = await startRelay({ clock, config: { modelRatePerMinute: 6 } });
    const [hostile, victim] = [await relay.addSandbox(), await relay.addSandbox()];
    const rejected = [
      () => hostile.ask(CHAT, "no JSON"),
      () => hostile.ask(CHAT, '{"model":1}'),
      () => hostile.ask(CHAT, messages(5 * MiB)),
      () => hostile.ask(CHAT, messages(1), { authorization: "Bearer wrong" }),
      () => hostile.ask("/model/openai/v1/files", "{}"),
      () => hostile.ask(CHAT, "[]"),
    ];
    for (const send of rejected) expect((await send()).status).not.toBe(429);
    const refused = await hostile.ask(CHAT, messages(1));
    expect([refused.status, Number(refused.headers["retry-after"])]).toEqual([429, 10]);
    expect((await victim.ask(CHAT, messages(1))).status).toBe(200);
    await clock.advance(MINUTE);
    expect((await hostile.ask(CHAT, messages(1))).status).toBe(200);
  });

  test("limits bytes per minute, including those of refused bodies", async () => {
    const clock = createTestClock();
    const relay = await startRelay({ clock, config: { modelMaxBodyMb: 1 } });
    const hostile = await relay.addSandbox();
    const faulty = Buffer.from(`["${"x".repeat(MiB - 3)}`);
    for (let i = 0; i < 33; i++) expect((await hostile.ask(CHAT, faulty)).status).toBe(400);
    expect((await hostile.ask(CHAT, messages(1))).status).toBe(429);
    expect((await (await relay.addSandbox()).ask(CHAT, messages(1))).status).toBe(200);
    await clock.advance(MINUTE);
    expect((await hostile.ask(CHAT, messages(1))).status).toBe(200);
  });
});
