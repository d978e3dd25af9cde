import { once } from "node:events";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { longestTurnMs } from "./testing/measure-turns.ts";
import { type RawProvider, startRawProvider } from "./testing/raw-provider.ts";
import { startTestRelay, type TestRelay, type TestSandbox } from "./testing/start-relay.ts";

const CHAT = "/model/openai/v1/chat/completions";
const BODY = { stream: true, messages: [] };
const OK = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";

let provider: RawProvider;
let relay: TestRelay;
let sandbox: TestSandbox;

beforeEach(async () => {
  provider = await startRawProvider();
  relay = await startTestRelay({ upstreamUrl: provider.url, answerTimeoutMs: 1000 });
  sandbox = await relay.addSandbox();
});
afterEach(async () => {
  await relay[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

async function statusOf(): Promise<number | string | undefined> {
  try {
    return (await sandbox.ask(CHAT, BODY)).status;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}

// A bad answer affects only its own request: the next one is served, and the connection to the provider is closed.
async function expectNoHarm(): Promise<void> {
  await expect.poll(() => provider.connections.size).toBe(0);
  provider.behave = (socket) => socket.end(`${OK}Content-Length: 0\r\n\r\n`);
  expect(await statusOf()).toBe(200);
}

const repeat = (socket: Socket, bytes: string | Buffer) => {
  const more = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on("drain", more);
  more();
};

describe("a hostile provider", () => {
  test.each([
    ["a status of 000", "HTTP/1.1 000 x\r\n\r\n"],
    ["a status of 099", "HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n"],
    ["a status of 600", "HTTP/1.1 600 x\r\nContent-Length: 0\r\n\r\n"],
    ["a status of 999", "HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n"],
    ["a status of four digits", "HTTP/1.1 2000 x\r\n\r\n"],
    ["a negative status", "HTTP/1.1 -20 x\r\n\r\n"],
    ["no HTTP", "SSH-2.0-OpenSSH_9.9\r\n"],
    ["zeros", "\0".repeat(100)],
    ["a header without a colon", `${OK}nonsense\r\n\r\n`],
    ["a control character in a header", `${OK}Retry-After: \x01\x02\r\n\r\n`],
    ["a header name of garbage", `${OK}\xff\xfe\x00: 1\r\n\r\n`],
    ["an endless header", `${OK}X: ${"a".repeat(200_000)}`],
    ["two lengths", `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
    ["a negative length", `${OK}Content-Length: -1\r\n\r\n`],
    ["a change of the protocol", "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"],
    ["half a head", "HTTP/1.1 200 OK\r\nContent-Ty"],
    ["nothing", ""],
  ])("is answered for with 502: %s", async (_name, bytes) => {
    provider.behave = (socket) => socket.end(bytes, "latin1");
    expect(await statusOf()).toBe(502);
    await expectNoHarm();
  });

  test.each([
    ["silence", () => {}],
    ["a head that never ends", (socket: Socket) => trickle(socket, `${OK}X: `)],
    ["interim answers without end", (socket: Socket) => repeat(socket, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(100))],
    ["requests to continue without end", (socket: Socket) => trickle(socket, "", "HTTP/1.1 100 Continue\r\n\r\n")],
  ])("is given up: %s", async (_name, behave) => {
    provider.behave = behave;
    expect(await statusOf()).toBe(502);
    await expectNoHarm();
  });

  test.each([
    ["a chunk of garbage", `${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nZZ\r\n`],
    ["too short a body", `${OK}Content-Length: 100\r\n\r\nabc`],
    ["a body and then silence", `${OK}Content-Length: 100\r\n\r\nabc`],
  ])("loses its answer, and nothing else: %s", async (name, bytes) => {
    provider.behave = (socket) => (name.includes("silence") ? socket.write(bytes) : socket.end(bytes));
    expect(await statusOf()).toBe("ECONNRESET");
    await expectNoHarm();
  });

  test("cannot keep a connection open by rejecting the key without end", async () => {
    provider.behave = (socket) => {
      socket.write("HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\n\r\n");
      repeat(socket, "5\r\nabcde\r\n".repeat(1000));
    };
    expect(await statusOf()).toBe(401);
    await expectNoHarm();
  });

  test("has its compressed bytes relayed unchanged", async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    provider.behave = (socket) => {
      socket.write(`${OK}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
      socket.end(bomb);
    };
    const answer = await sandbox.open(CHAT, BODY);
    let length = 0;
    for await (const chunk of answer) length += (chunk as Buffer).length;
    expect([answer.headers["content-encoding"], length]).toEqual(["gzip", bomb.length]);
    await expectNoHarm();
  });

  test.each([
    ["lines that do not end", "x".repeat(60_000)],
    ["strings that do not end", `data: {"choices":[{"delta":{"content":"${"x".repeat(60_000)}`],
    ["deep JSON", `data: ${"[".repeat(60_000)}`],
    ["reports of usage", 'data: {"usage":{"prompt_tokens":1,"completion_tokens":1}}\n'.repeat(1000)],
    ["empty lines", "\n".repeat(60_000)],
  ])("does not hold the event loop with 3 MiB of %s", async (_name, piece) => {
    provider.behave = (socket) => {
      socket.write(`${OK}Connection: close\r\n\r\n`);
      repeat(socket, piece);
    };
    const work = async () => {
      const answer = await sandbox.open(CHAT, BODY);
      let length = 0;
      while (length < 3 * 1024 * 1024) length += ((await once(answer, "data"))[0] as Buffer).length;
      answer.destroy();
    };
    expect(await longestTurnMs(work, { limitMs: 50 })).toBeLessThan(50);
    await expectNoHarm();
  });
});

function trickle(socket: Socket, head: string, piece = "a"): void {
  socket.write(head);
  const timer = setInterval(() => socket.write(piece), 50);
  socket.on("close", () => clearInterval(timer));
}
