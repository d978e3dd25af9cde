import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { modelUsageOf, type UsedTokens } from "../../store/partners/model-usage.ts";
import type { ModelRelayDeps } from "./model-relay.ts";
import { type RawProvider, startRawProvider } from "./testing/raw-provider.ts";
import { startTestRelay, type TestRelay, type TestSandbox } from "./testing/start-relay.ts";

const CHAT = "/model/openai/v1/chat/completions";
const MESSAGES = "/model/anthropic/v1/messages";
const STREAM = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
const JSON_ANSWER = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const said = (bytes: number) => event({ choices: [{ delta: { content: "x".repeat(bytes) } }] });
const usage = (input: number, output: number) => ({ prompt_tokens: input, completion_tokens: output });
const prompt = (bytes: number) => ({ stream: true, messages: [{ role: "user", content: "x".repeat(bytes) }] });

let provider: RawProvider;
let relay: TestRelay;
let sandbox: TestSandbox;

beforeEach(async () => {
  provider = await startRawProvider();
  await start();
});
afterEach(async () => {
  await relay[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

async function start(config: Partial<ModelRelayDeps["config"]> = {}): Promise<void> {
  const options = { upstreamUrl: provider.url, config: { modelBaseUrl: provider.url, ...config } };
  relay = await startTestRelay(options);
  sandbox = await relay.addSandbox();
}

async function restart(config: Partial<ModelRelayDeps["config"]>): Promise<void> {
  await relay[Symbol.asyncDispose]();
  await start(config);
}

const used = () => modelUsageOf(relay.store.db, sandbox.sessionId);
const settled = (matches: (usage: UsedTokens) => boolean) => expect.poll(async () => matches(await used())).toBe(true);

// Disconnects when the provider has the request, or after the first bytes of its answer.
async function hangUp(path: string, body: object, when: "asked" | "head" | "answered"): Promise<void> {
  const asked = Promise.withResolvers<void>();
  const behave = provider.behave;
  provider.behave = (socket, request) => {
    behave(socket, request);
    asked.resolve();
  };
  const socket = sandbox.connect();
  const text = JSON.stringify(body);
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${sandbox.token}\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  );
  await asked.promise;
  if (when !== "asked") await receiveText(socket, when === "head" ? "HTTP/1.1" : "data: {");
  socket.destroy();
}

async function receiveText(socket: Socket, wanted: string): Promise<void> {
  let text = "";
  while (!text.includes(wanted)) text += String((await once(socket, "data"))[0]);
}

describe("tokens are counted", () => {
  test("for the prompt when it is sent, even if the caller disconnects before an answer", async () => {
    provider.behave = () => {};
    await hangUp(CHAT, prompt(4000), "asked");
    await settled(({ input }) => input >= 1000 && input < 1100);
  });

  test("for the part of a truncated stream that was relayed", async () => {
    provider.behave = (socket) => socket.write(STREAM + said(4000));
    await hangUp(CHAT, prompt(400), "answered");
    await settled(({ input, output }) => input >= 100 && output >= 1000);
  });

  test("for the relayed part if the provider has reported less so far", async () => {
    await restart({ modelProvider: "anthropic" });
    const start = { message: { usage: { input_tokens: 500, output_tokens: 1 } } };
    provider.behave = (socket) => socket.write(STREAM + event(start) + event({ delta: { text: "x".repeat(4000) } }));
    await hangUp(MESSAGES, prompt(400), "answered");
    await settled(({ input, output }) => input === 500 && output >= 1000);
  });

  test("as the provider finally reports them, before the caller sees the end of the answer", async () => {
    provider.behave = (socket) => socket.end(STREAM + said(4000) + event({ choices: [], usage: usage(7, 8) }) + "data: [DONE]\n\n");
    expect((await sandbox.ask(CHAT, prompt(4000))).status).toBe(200);
    expect(await used()).toEqual({ input: 7, output: 8 });
    provider.behave = (socket) => socket.end(JSON_ANSWER + JSON.stringify({ usage: usage(1, 2) }));
    expect((await sandbox.ask(CHAT, prompt(4000))).status).toBe(200);
    expect(await used()).toEqual({ input: 8, output: 10 });
  });

  test("by length if the provider reports none", async () => {
    provider.behave = (socket) => socket.end(JSON_ANSWER + JSON.stringify({ choices: [{ message: { content: "x".repeat(4000) } }] }));
    await sandbox.ask(CHAT, prompt(4000));
    const { input, output } = await used();
    expect([Math.round(input / 100), Math.round(output / 100)]).toEqual([10, 10]);
  });

  test("for images at the rate of images", async () => {
    provider.behave = () => {};
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(1024 * 1024)}` } };
    await hangUp(CHAT, { messages: [{ role: "user", content: [image] }] }, "asked");
    await settled(({ input }) => input > 1000 && input < 10_000);
  });

  test("against the cap while requests are in progress: a request waits until enough is left, and is refused if that is never so", async () => {
    await restart({ modelTokenCap: 3000 });
    const { promise: asked, resolve } = Promise.withResolvers<Socket>();
    provider.behave = resolve;
    const first = sandbox.ask(CHAT, { ...prompt(400), max_tokens: 2500 });
    const firstSocket = await asked;
    const requests: string[] = [];
    provider.behave = (socket, request) => {
      requests.push(request);
      socket.end(JSON_ANSWER + JSON.stringify({ usage: usage(100, 2000) }));
    };
    const second = sandbox.ask(CHAT, { ...prompt(400), max_tokens: 2000 });
    expect(await Promise.race([second, sleep(500, "waits")])).toBe("waits");
    firstSocket.end(JSON_ANSWER + JSON.stringify({ usage: usage(100, 500) }));
    expect([(await first).status, (await second).status, requests.length]).toEqual([200, 200, 1]);
    expect(await used()).toEqual({ input: 200, output: 2500 });
    expect((await sandbox.ask(CHAT, { ...prompt(400), max_tokens: 500 })).text).toContain("too few tokens left");
    expect((await sandbox.ask(CHAT, prompt(4000))).text).toContain("too few tokens left");
    expect(await used()).toEqual({ input: 200, output: 2500 });
  });

  test("so that many requests at once cannot exceed the cap, whatever their answers cost within their limit", async () => {
    await restart({ modelTokenCap: 20_000 });
    provider.behave = (socket) => socket.end(JSON_ANSWER + JSON.stringify({ usage: usage(10, 3000) }));
    const answers = await Promise.all(Array.from({ length: 16 }, () => sandbox.ask(CHAT, { messages: [], max_completion_tokens: 3000 })));
    expect([200, 400].map((code) => answers.filter(({ status }) => status === code).length)).toEqual([6, 10]);
    expect(await used()).toEqual({ input: 60, output: 18_000 });
  });

  test.each([
    ["openai", CHAT, { messages: [], max_tokens: 5000 }, 5000],
    ["openai", CHAT, { messages: [], max_completion_tokens: 5000, n: 2 }, 10_000],
    ["openai", CHAT, { messages: [] }, 8192],
    ["openai", "/model/openai/v1/completions", { prompt: "x", max_tokens: 50, best_of: 4 }, 200],
    ["openai", "/model/openai/v1/responses", { input: "x", max_output_tokens: 5000 }, 5000],
    ["openai", "/model/openai/v1/embeddings", { input: "x" }, 0],
    ["anthropic", MESSAGES, { messages: [], max_tokens: 5000 }, 5000],
  ] as const)(
    "as reserved if the caller of %s %s leaves before an answer that is not streamed",
    async (modelProvider, path, body, reserved) => {
      await restart({ modelProvider, modelTokenCap: 100_000 });
      provider.behave = () => {};
      await hangUp(path, body, "asked");
      await settled(({ input, output }) => input > 0 && output === reserved);
      await expect.poll(() => relay.store.db.selectFrom("model_reservations").selectAll().execute()).toEqual([]);
    },
  );

  test("as reserved if the caller leaves in the middle of an answer that is not streamed", async () => {
    await restart({ modelTokenCap: 100_000 });
    provider.behave = (socket) => socket.write(`${JSON_ANSWER}{`);
    await hangUp(CHAT, { messages: [], max_tokens: 5000 }, "head");
    await settled(({ output }) => output === 5000);
  });

  test("within the tokens that are left, because the relay lowers the limit of a request", async () => {
    await restart({ modelTokenCap: 20_000 });
    let sent = "";
    provider.behave = (socket, request) => {
      sent = request;
      socket.end(JSON_ANSWER + JSON.stringify({ usage: usage(1000, 10_000) }));
    };
    await sandbox.ask(CHAT, { max_tokens: 50_000, messages: [{ role: "user", content: "x".repeat(3900) }] });
    const limit = Number(/"max_tokens":(\d+)/.exec(sent)?.[1]);
    expect(limit).toBeGreaterThan(18_900);
    expect(limit).toBeLessThan(19_050);
    expect((await sandbox.ask(CHAT, { max_tokens: "50000", messages: [] })).text).toMatch(/max_tokens .* must be a number/);
  });
});

describe("no tokens are counted", () => {
  test("when the provider refuses, even if the caller disconnects meanwhile", async () => {
    provider.behave = (socket) => socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}");
    expect((await sandbox.ask(CHAT, prompt(4000))).status).toBe(400);
    expect(await used()).toEqual({ input: 0, output: 0 });
    provider.behave = (socket) => socket.write('HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\ndata: {"error":');
    // The text of an error is sent when it is complete.
    await hangUp(CHAT, prompt(4000), "head");
    await expect.poll(() => provider.connections.size).toBe(0);
    await settled(({ input, output }) => input + output === 0);
  });

  test("when the provider disconnects without an answer", async () => {
    provider.behave = (socket) => socket.destroy();
    expect((await sandbox.ask(CHAT, prompt(4000))).status).toBe(502);
    expect(await used()).toEqual({ input: 0, output: 0 });
  });

  test("for a request that the relay refuses, or that is free", async () => {
    expect((await sandbox.ask(CHAT, { ...prompt(4000), background: true })).status).toBe(400);
    expect((await sandbox.ask(CHAT, { ...prompt(10), stream_options: { a: "x".repeat(5000) } })).status).toBe(400);
    await restart({ modelProvider: "anthropic" });
    provider.behave = (socket) => socket.end(`${JSON_ANSWER}{"input_tokens":1000}`);
    expect((await sandbox.ask(`${MESSAGES}/count_tokens`, { messages: [] })).status).toBe(200);
    expect(await used()).toEqual({ input: 0, output: 0 });
  });
});
