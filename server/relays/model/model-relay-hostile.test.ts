import { once } from "node:events";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describeForwarder } from "@berth/contract/forwarding/forwarding.suite.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog } from "../../log.ts";
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

describeForwarder(
  "the model relay",
  async ({ port }) => {
    const faults: string[] = [];
    const upstreamUrl = `http://127.0.0.1:${port}`;
    const log = { ...silentLog, error: (event: string) => void faults.push(event) };
    const opened = await startTestRelay({ upstreamUrl, log, config: { modelRatePerMinute: 0 } });
    const { token, connect } = await opened.addSandbox();
    const headers = `HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}`;
    return {
      connect,
      requests: { get: `GET /model/openai/v1/models ${headers}`, post: `POST ${CHAT} ${headers}` },
      body: JSON.stringify(BODY),
      faults: () => faults,
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  },
  { readsWholeBody: true },
);

describe("a hostile provider", () => {
  test.each([
    ["silence", () => {}],
    ["a head that never ends", (socket: Socket) => trickle(socket, `${OK}X: `)],
  ])("is given up: %s", async (_name, behave) => {
    provider.behave = behave;
    expect(await statusOf()).toBe(502);
    await expectNoHarm();
  });

  test.each([
    // Its head is not passed on, because the bytes that arrive with it are known by then.
    ["a chunk of garbage", `${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nZZ\r\n`, 502],
    ["too short a body", `${OK}Content-Length: 100\r\n\r\nabc`, "ECONNRESET"],
    ["a body and then silence", `${OK}Content-Length: 100\r\n\r\nabc`, "ECONNRESET"],
  ])("loses its answer, and nothing else: %s", async (name, bytes, outcome) => {
    provider.behave = (socket) => (name.includes("silence") ? socket.write(bytes) : socket.end(bytes));
    expect(await statusOf()).toBe(outcome);
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
