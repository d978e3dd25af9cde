import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newId, type SessionId } from "@berth/contract";
import { MODEL_USAGE, type ModelServer, startModelServer } from "../../../tests/support/agents/model-server.ts";
import { systemClock } from "../../clock.ts";
import { createLog, type Log, silentLog } from "../../log.ts";
import { createSecrets } from "../../secrets/secrets.ts";
import { modelUsageOf } from "../../store/partners/model-usage.ts";
import { modelUsageOfUser } from "../../store/testing/model-usage-of-user.ts";
import type { Store } from "../../store/open.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { createModelRelay, type ModelRelayDeps } from "./model-relay.ts";
import { startTestRelay, TEST_KEY as KEY, type TestRelay } from "./testing/start-relay.ts";

let model: ModelServer;
let started: TestRelay | undefined;
let store: Store;

beforeEach(async () => {
  model = await startModelServer();
});
afterEach(async () => {
  await stopRelay();
  await model[Symbol.asyncDispose]();
});

async function stopRelay(): Promise<void> {
  await started?.[Symbol.asyncDispose]();
  started = undefined;
}

async function startRelay(config: Partial<ModelRelayDeps["config"]> = {}, log: Log = silentLog) {
  started = await startTestRelay({ upstreamUrl: model.url, config, log });
  store = started.store;
  return started.addSandbox();
}

const CHAT = "/model/openai/v1/chat/completions";
const aChat = { model: "whatever", stream: true, messages: [{ role: "user", content: "hi" }], tools: [{}] };

describe("the model relay", () => {
  test("gives the sandbox a loopback URL and a token, but not the key", async () => {
    const { env } = await startRelay();
    expect(env).toMatchObject({
      GOOSE_PROVIDER: "openai",
      GOOSE_MODEL: "the-model",
      OPENAI_BASE_URL: "http://127.0.0.1:3128/model/openai/v1",
    });
    expect(JSON.stringify(env)).not.toContain(KEY);
    await stopRelay();
    expect((await startRelay({ modelProvider: null })).env).toEqual({});
    await stopRelay();
    expect((await startRelay({ modelApiKey: null })).env).toEqual({});
  });

  test("sends the real key and the configured model, streams the answer and counts the tokens", async () => {
    const { ask, sessionId, token } = await startRelay();
    model.script = [{ say: "Hello from the model" }];
    const reply = await ask(CHAT, aChat);
    expect(reply.status).toBe(200);
    expect(reply.text).toContain("data: [DONE]");
    const seen = model.requests.at(-1);
    expect(seen?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(seen?.body).toMatchObject({ model: "the-model", stream_options: { include_usage: true } });
    expect(JSON.stringify([seen?.headers, seen?.body])).not.toContain(token);
    expect(await modelUsageOf(store.db, sessionId)).toEqual(MODEL_USAGE);
    await ask(CHAT, { ...aChat, stream: false });
    expect(await modelUsageOf(store.db, sessionId)).toEqual({ input: 2 * MODEL_USAGE.input, output: 2 * MODEL_USAGE.output });
    expect(await modelUsageOfUser(store.db, "acme", "ada")).toEqual({ input: 2 * MODEL_USAGE.input, output: 2 * MODEL_USAGE.output });
    expect(await modelUsageOfUser(store.db, "acme", "another user")).toEqual({ input: 0, output: 0 });
  });

  test("relays Anthropic's API too", async () => {
    const { ask, env, token, sessionId } = await startRelay({ modelProvider: "anthropic", modelBaseUrl: model.url });
    expect(env.ANTHROPIC_BASE_URL).toBe("http://127.0.0.1:3128/model/anthropic");
    model.script = [{ say: "Bonjour" }];
    const reply = await ask("/model/anthropic/v1/messages", { ...aChat, max_tokens: 10 }, { "x-api-key": token });
    expect(reply.text).toContain("Bonjour");
    expect(model.requests.at(-1)?.headers).toMatchObject({ "x-api-key": KEY, "anthropic-version": "2023-06-01" });
    expect(await modelUsageOf(store.db, sessionId)).toEqual(MODEL_USAGE);
  });

  test("refuses an invalid token, the token of another sandbox and a missing token", async () => {
    const { ask } = await startRelay();
    const other = createModelRelay({
      config: {
        modelProvider: "openai",
        modelBaseUrl: null,
        modelApiKey: KEY,
        modelName: null,
        modelTokenCap: null,
        modelMaxBodyMb: 4,
        modelRatePerMinute: 0,
      },
      templates: new Map(),
      secrets: createSecrets([randomBytes(32)]),
      store,
      clock: systemClock,
      env: {},
      log: silentLog,
    }).env(newId("sbx", 1), DEFAULT_TEMPLATE).OPENAI_API_KEY;
    for (const authorization of [undefined, "Bearer x", `Bearer ${other}`, `Bearer ${KEY}`]) {
      expect((await ask(CHAT, aChat, authorization === undefined ? {} : { authorization })).status).toBe(401);
    }
    expect(model.requests).toEqual([]);
  });

  test("relays only the parts of the API that agents need", async () => {
    const { ask } = await startRelay();
    expect((await ask("/model/openai/v1/models", null)).status).toBe(200);
    for (const path of [
      "/model/openai/v1/files",
      "/model/openai/v1/organization/admin_api_keys",
      "/model/openai/v1/../../admin",
      "/model/openai/v1/models/..%2f..%2fadmin",
      "/model/openai//evil.example/chat/completions",
      "/model/anthropic/v1/messages",
      "/model/",
    ]) {
      expect([path, (await ask(path, null)).status, (await ask(path, {})).status]).toEqual([path, 404, 404]);
    }
    expect(model.requests.map(({ path }) => path)).toEqual(["/v1/models"]);
  });

  test("goes by the egress of the session, as it is now, and not by that of its template", async () => {
    const { ask, sessionId } = await startRelay();
    const unknown = { ...aChat, a_field_of_tomorrow: 1 };
    const setEgress = (egress: object | null) =>
      store.db
        .updateTable("sessions")
        .set({ egress: egress && JSON.stringify(egress) })
        .where("id", "=", sessionId as SessionId)
        .execute();
    expect((await ask(CHAT, unknown)).status).toBe(200);
    await setEgress({ policy: "none" });
    expect((await ask(CHAT, unknown)).status).toBe(400);
    expect((await ask(CHAT, aChat)).status).toBe(200);
    await setEgress(null);
    expect((await ask(CHAT, unknown)).status).toBe(200);
  });

  test("refuses a session that has used its tokens, with a message", async () => {
    const { ask } = await startRelay({ modelTokenCap: 2 * (MODEL_USAGE.input + MODEL_USAGE.output) });
    const short = { ...aChat, max_tokens: MODEL_USAGE.output };
    expect((await ask(CHAT, short)).status).toBe(200);
    expect((await ask(CHAT, short)).status).toBe(200);
    const refused = await ask(CHAT, short);
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.text).error).toMatchObject({ message: "This session has used all its tokens" });
  });

  test("charges an estimate if the caller disconnects before usage arrives", async () => {
    const { open, sessionId } = await startRelay();
    model.script = [{ sayAndHang: "one two three four" }];
    const response = await open(CHAT, aChat);
    await once(response, "data");
    response.destroy();
    await expect.poll(async () => (await modelUsageOf(store.db, sessionId)).output).toBeGreaterThan(0);
    expect((await modelUsageOf(store.db, sessionId)).input).toBeGreaterThan(10);
  });

  test("logs a rejected key for the operator and hides the provider's message", async () => {
    let logged = "";
    const log = createLog("info", { write: (line: string) => void (logged += line) });
    const { ask } = await startRelay({}, log);
    model.script = [{ status: 401, error: `Incorrect API key provided: ${KEY}` }];
    const reply = await ask(CHAT, aChat);
    expect(reply.status).toBe(401);
    expect(reply.text).toContain("rejected the server's API key");
    expect(reply.text + logged).not.toContain(KEY);
    expect(logged).toContain("model.key_refused");
  });

  test.each([
    [401, "model_key_refused"],
    [403, "model_key_refused"],
    [400, "as_sent"],
    [429, "as_sent"],
    [500, "as_sent"],
    [503, "as_sent"],
    [529, "as_sent"],
  ])("passes status %i of the provider on, with Retry-After and without its key", async (status, code) => {
    const { ask } = await startRelay();
    const masked = `${KEY.slice(0, 7)}*****${KEY.slice(-4)}`;
    model.script = [{ status, error: `Refused ${KEY}, that is ${masked}`, code: "as_sent", retryAfter: 7 }];
    const reply = await ask(CHAT, aChat);
    expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([status, code]);
    expect(reply.headers["retry-after"]).toBe(code === "as_sent" ? "7" : undefined);
    for (const secret of [KEY, masked, KEY.slice(-4)]) expect(reply.text).not.toContain(secret);
  });

  test("relays other errors free of charge, and reports an unreachable provider", async () => {
    const { ask, sessionId } = await startRelay();
    model.script = [{ status: 429, error: "slow down" }];
    const reply = await ask(CHAT, aChat);
    expect([reply.status, reply.text]).toEqual([429, expect.stringContaining("slow down")]);
    expect(await modelUsageOf(store.db, sessionId)).toEqual({ input: 0, output: 0 });
    await stopRelay();
    const gone = await startRelay({ modelBaseUrl: "http://127.0.0.1:1/v1" });
    expect((await gone.ask(CHAT, aChat)).status).toBe(502);
  });

  test("refuses a body that is too large or not JSON", async () => {
    const { ask } = await startRelay();
    expect((await ask(CHAT, { text: "x".repeat(17 * 1024 * 1024) })).status).toBe(413);
    expect((await ask(CHAT, [] as object)).status).toBe(400);
    expect(model.requests).toEqual([]);
  });
});
