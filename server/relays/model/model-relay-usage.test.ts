import { once } from "node:events";
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

  test("against the cap while requests are in progress", async () => {
    await restart({ modelTokenCap: 1000 });
    const asked = Promise.withResolvers<void>();
    provider.behave = () => asked.resolve();
    const first = sandbox.open(CHAT, prompt(4000)).catch(() => null);
    await asked.promise;
    expect((await sandbox.ask(CHAT, prompt(4))).text).toContain("has used all its tokens");
    for (const socket of provider.connections) socket.destroy();
    await first;
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
