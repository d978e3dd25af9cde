import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describeForwarder } from "@berth/contract/forwarding/forwarding.suite.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Conversation } from "@berth/contract/agent.ts";
import { readScriptedAgent } from "../../../tests/support/agents/scripted-agent.ts";
import { type ModelServer, startModelServer } from "../../../tests/support/agents/model-server.ts";
import { agentState, openPanel, type Panel, startSession } from "../../testing/agent-panel.ts";
import { createConversation } from "../conversations/conversation.ts";
import { withoutRelayAddresses } from "./model-fault.ts";
import { createModelForwarder } from "./model-forwarder.ts";
import { startTestDaemon, type TestDaemon } from "../../testing/test-daemon.ts";

test("addresses of relays are not in the agent's text, also if they arrive in parts", () => {
  const clean = (text: string) => withoutRelayAddresses(text, 4711);
  expect(clean("error sending request for url (http://127.0.0.1:3128/model/openai/v1/chat), tcp connect error: 127.0.0.1:4711.")).toBe(
    "error sending request for url (the model), tcp connect error: the model.",
  );
  expect(clean("unable to access 'http://localhost:3128/relay/git/repository/': 502")).toBe("unable to access 'the relay': 502");
  const own = "Your server runs on http://localhost:47110/model and 127.0.0.1:3000.";
  expect(clean(own)).toBe(own);

  const head = { id: "conv_1" } as Conversation;
  const conversation = createConversation({ head, items: [], workspace: "/w", clean, onChange: () => {} });
  for (const text of ["It failed: http://127.0", ".0.1:3128/mod", "el/openai", "/v1 is gone.", " Sorry."])
    conversation.apply({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  conversation.apply({
    sessionUpdate: "tool_call",
    toolCallId: "1",
    title: "curl http://127.0.0.1:4711/model/v1",
    content: [{ type: "content", content: { type: "text", text: "127.0.0.1:4711 refused" } }],
  });
  const [answer, tool] = conversation.items.values();
  expect(answer).toMatchObject({ text: "It failed: the model is gone. Sorry." });
  expect(tool).toMatchObject({ title: "curl the model", content: [{ text: "the model refused" }] });
});

describeForwarder("the daemon's forwarder to the model", async ({ port }) => {
  const forwarder = createModelForwarder({ begin() {}, refusal: () => null, sent() {}, used() {}, answer() {}, end() {}, drop() {} });
  const { OPENAI_BASE_URL: url = "" } = await forwarder.redirect({ OPENAI_BASE_URL: `http://127.0.0.1:${port}/model/openai/v1` });
  const { port: own, pathname } = new URL(url);
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  const target = `${pathname}/chat HTTP/1.1\r\nhost: x`;
  return {
    connect: () => connect(Number(own), "127.0.0.1"),
    requests: { get: `GET ${target}`, post: `POST ${target}` },
    refusal: /^$/,
    faults: () => logged.mock.calls,
    [Symbol.asyncDispose]: async () => logged.mockRestore(),
  };
});

const PATHS = { "chat completions": "/chat/completions", responses: "/responses", messages: "/messages" };

// The agent of these tests reports faults like goose: as `end_turn` with prose that contains the address, or as a missing sign-in.
describe("a model that fails", () => {
  let daemon: TestDaemon;
  let model: ModelServer;
  beforeAll(async () => {
    daemon = await startTestDaemon();
    model = await startModelServer();
    writeFileSync(join(daemon.workspace, "agent.mjs"), await readScriptedAgent());
    const agent = { command: process.execPath, args: ["agent.mjs"], env: {}, requiredEnv: [] };
    await startSession(daemon, { agent, env: { OPENAI_BASE_URL: `${model.url}/model/openai/v1` } });
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
    await model[Symbol.asyncDispose]();
  });

  const repeated = (count: number, error: { status: number; error: string; code?: string }) => Array.from({ length: count }, () => error);
  const heads = (panel: Panel): Conversation[] => panel.messages.flatMap((each) => (each.type === "conversation" ? each.conversation : []));
  const waits = (panel: Panel) => heads(panel).flatMap(({ modelWait }) => modelWait ?? []);

  async function ask(path: string): Promise<{ panel: Panel; end: object }> {
    const panel = await openPanel(daemon);
    panel.send({ type: "prompt", requestId: "1", text: `/model ${path}` });
    return { panel, end: await panel.turnEnds() };
  }

  test.each(
    Object.entries(PATHS).flatMap(([name, path]) => [
      { name, path, status: 401, code: "model_key_refused", text: "rejected the server's API key" },
      { name, path, status: 429, code: "model_rate_limited", text: "limits the number of requests" },
      { name, path, status: 500, code: "model_unavailable", text: "reports an error" },
    ]),
  )("ends the turn with $code after status $status ($name)", async ({ path, status, code, text }) => {
    model.script = repeated(20, { status, error: "Not now" });
    const { panel, end } = await ask(path);
    expect(end).toMatchObject({ stopReason: "error", code, message: expect.stringContaining(text) });
    const items = panel.items();
    expect(items.at(-1)).toMatchObject({ kind: "notice", level: "error", code, text: expect.stringContaining(text) });
    expect(items.map(({ kind }) => kind)).toEqual(["user", "notice"]);
    expect(JSON.stringify(panel.messages)).not.toContain("127.0.0.1");
    // The daemon ends the turn after the fifth attempt, although this agent would go on.
    const tried = model.requests.filter(({ body }) => body.tools).length;
    expect(20 - model.script.length).toBe(status === 401 ? 1 : 5);
    expect(tried).toBeGreaterThan(0);
    expect([...new Set(waits(panel).map(({ attempt, attempts }) => `${attempt} of ${attempts}`))]).toEqual(
      status === 401 ? [] : ["2 of 5", "3 of 5", "4 of 5", "5 of 5"],
    );
    expect(heads(panel).at(-1)).toMatchObject({ busy: false, modelWait: null });
    // A refused key is not a missing sign-in of the agent.
    expect((await agentState(daemon)).status).toBe("ready");
    await panel.close();
  });

  test.each([
    ["OpenAI", { status: 400, error: "Too long for this model", code: "context_length_exceeded" }],
    ["Anthropic", { status: 400, error: "prompt is too long: 201000 tokens > 200000 maximum", code: "invalid_request_error" }],
    ["another server", { status: 400, error: "This model's maximum context length is 8192 tokens" }],
  ])("says that the conversation no longer fits (%s)", async (_name, error) => {
    model.script = repeated(20, error);
    const { panel, end } = await ask(PATHS.messages);
    expect(end).toMatchObject({ stopReason: "error", code: "model_context_full", message: expect.stringContaining("no longer fits") });
    await panel.close();
  });

  test("names the provider's reason if it refuses the request", async () => {
    model.script = repeated(20, { status: 404, error: "There is no such model" });
    const { panel, end } = await ask(PATHS.responses);
    expect(end).toMatchObject({ code: "model_refused", message: "The model refused the request: There is no such model" });
    await panel.close();
  });

  test("leaves the turn alone if it answers again", async () => {
    model.script = repeated(2, { status: 503, error: "Overloaded" });
    const { panel, end } = await ask(PATHS["chat completions"]);
    expect(end).toMatchObject({ stopReason: "end_turn" });
    expect(waits(panel)).toMatchObject([
      { code: "model_unavailable", attempt: 2 },
      { code: "model_unavailable", attempt: 3 },
    ]);
    expect(panel.items().map((item) => ("text" in item ? item.text : ""))).toEqual(["/model /chat/completions", "The model has answered."]);
    await panel.close();
  });

  test("is not blamed for a title that fails", async () => {
    model.title = { status: 500, error: "No titles today" };
    const { panel, end } = await ask(PATHS["chat completions"]);
    model.title = "A fitting title";
    expect(end).toMatchObject({ stopReason: "end_turn" });
    await panel.close();
  });

  test("is reported if it fails in the middle of its answer", async () => {
    model.script = repeated(20, { status: 200, error: "Overloaded", code: "overloaded_error" });
    const { panel, end } = await ask(PATHS.messages);
    expect(end).toMatchObject({ stopReason: "error", code: "model_unavailable" });
    await panel.close();
  });

  test("shows after two seconds that it has not answered, and Stop ends the wait", async () => {
    model.script = [{ hang: true }];
    const panel = await openPanel(daemon);
    panel.send({ type: "prompt", requestId: "1", text: `/model ${PATHS.responses}` });
    await expect.poll(() => waits(panel), { timeout: 4000 }).toEqual([{ code: "model_slow" }]);
    panel.send({ type: "cancel", conversationId: heads(panel)[0]!.id });
    expect(await panel.turnEnds()).toMatchObject({ stopReason: "cancelled" });
    await panel.close();
  });
});
