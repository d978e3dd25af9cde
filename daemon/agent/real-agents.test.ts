import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { AgentMessage, ConversationItem } from "@berth/contract/agent.ts";
import type { DaemonActivity } from "@berth/contract/daemon.ts";
import { withModelSettings } from "../../server/agents/settings.ts";
import { AGENTS, preferredAgent, type TestAgent } from "../../tests/support/agents/agents.ts";
import { type ModelServer, startModelServer } from "../../tests/support/agents/model-server.ts";
import { describeWith } from "../../tests/support/machine.ts";
import { agentBecomes, agentState, openPanel, type Panel, startSession } from "../testing/agent-panel.ts";
import { findProcess } from "../testing/processes.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==", "base64");

// Runs the same tests with every agent that is installed on this machine. The tests of an agent share one daemon and run in
// this order, because some agents take seconds to start.
for (const agent of AGENTS) describeWith(agent.missing, agent.name, { timeout: 120_000 }, () => testAgent(agent));

function testAgent(agent: TestAgent): void {
  let daemon: TestDaemon;
  let model: ModelServer;
  beforeAll(async () => {
    daemon = await startTestDaemon();
    model = await startModelServer();
  });
  afterAll(async () => {
    await daemon?.[Symbol.asyncDispose]();
    await model?.[Symbol.asyncDispose]();
  });
  beforeEach(() => void (model.script = []));
  // Wait for the turn to end, so that its end does not count for the next test.
  afterEach(() => expect.poll(async () => (await conversations()).some(({ busy }) => busy)).toBe(false));

  async function startAgentSession({
    extra = {},
    autoStartAgent = true,
  }: { extra?: Record<string, string>; autoStartAgent?: boolean } = {}): Promise<void> {
    const env = { OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_API_KEY: "sk-x", OPENAI_MODEL: "scripted", ...extra };
    await startSession(daemon, { env, agent: withModelSettings(agent.spec, env), autoStartAgent });
  }

  const pidOf = () => findProcess({ program: agent.name, home: daemon.home });
  const writeHello = (name = "hello.txt") => agent.write(join(daemon.workspace, name), "hello\n");
  const conversations = async () => (await daemon.fetch("/agent/conversations")).json.conversations;
  const conversation = async (id: string) => (await conversations()).find((each) => each.id === id);
  const isBusy = async (id: string) => (await conversation(id))?.busy;

  const idleMs = async () => (await daemon.fetch<DaemonActivity>("/internal/activity")).json.agentIdleMs;

  // The id of the conversation that a panel's first prompt has created.
  async function created(panel: Panel): Promise<string> {
    const message = () => panel.messages.find(({ type }) => type === "created");
    await expect.poll(message).toBeDefined();
    return panel.messages.find((each) => each.type === "created")!.conversation.id;
  }

  test("starts on request if it is not started automatically", async () => {
    await startAgentSession({ autoStartAgent: false });
    expect((await agentState(daemon)).status).toBe("stopped");
    expect(pidOf()).toBeUndefined();
    await daemon.fetch("/agent/start", { method: "POST" });
    await agentBecomes(daemon, "ready");
    const pid = pidOf();
    expect(pid).toBeDefined();
    // The agent's own ports are not listed.
    expect((await daemon.fetch("/ports")).json.ports).toEqual([]);
    // A resume repeats the start request, which does not restart the agent.
    await startAgentSession();
    expect(pidOf()).toBe(pid);
  });

  test("writes a file, streams the diff and the text to every browser, and names the conversation", async () => {
    await startAgentSession();
    const [first, second] = [await openPanel(daemon), await openPanel(daemon)];
    model.script = [writeHello(), { say: "I wrote the file for you." }];
    first.send({ type: "prompt", requestId: "r1", text: "Write hello.txt" });
    const id = await created(first);
    expect(first.messages.find(({ type }) => type === "created")).toMatchObject({
      requestId: "r1",
      conversation: { title: "New conversation" },
    });
    second.send({ type: "open", conversationId: id });
    expect(await first.turnEnds()).toMatchObject({ stopReason: "end_turn" });

    expect(readFileSync(join(daemon.workspace, "hello.txt"), "utf8")).toBe("hello\n");
    const tool = await first.sees("tool", (item) => item.status === "completed");
    expect(tool).toMatchObject({ toolKind: "edit", title: agent.writeTitle("hello.txt") });
    const diffs = tool.content.filter((content) => content.type === "diff");
    expect(diffs).toEqual([{ type: "diff", path: "hello.txt", oldText: null, newText: "hello\n" }]);
    expect((await first.sees("assistant")).text).toBe("I wrote the file for you.");
    expect(first.messages.filter((message) => message.type === "append").length).toBeGreaterThan(2);
    await expect.poll(() => second.items()).toEqual(first.items());
    await expect
      .poll(conversations)
      .toMatchObject([
        agent.reportsConversation
          ? { title: "A fitting title", busy: false, usage: { contextUsed: 150 } }
          : { title: "Write hello.txt", busy: false, usage: null },
      ]);
    await first.close();
    await second.close();
  });

  test("edits a file and shows the changed lines", async () => {
    await startAgentSession();
    const panel = await openPanel(daemon);
    await daemon.fetch("/files/content?path=src%2Fa.ts", { method: "PUT", body: "const a = 1;\nconst b = 2;\n" });
    model.script = [agent.edit(join(daemon.workspace, "src/a.ts"), "const b = 2;", "const b = 3;"), { say: "Edited." }];
    const selection = { fromLine: 7, toLine: 7, text: "const selected = unsaved;" };
    panel.send({
      type: "prompt",
      requestId: "1",
      text: "Make b three",
      context: [{ path: "src/a.ts" }, { path: "src/b.ts", selection }],
    });
    await panel.turnEnds();
    const seen = JSON.stringify(model.requests.findLast(({ body }) => JSON.stringify(body).includes("Make b three"))?.body);
    expect(["src/a.ts", "const selected = unsaved;"].filter((part) => !seen.includes(part))).toEqual([]);
    expect(readFileSync(join(daemon.workspace, "src/a.ts"), "utf8")).toBe("const a = 1;\nconst b = 3;\n");
    const { content } = await panel.sees("tool", (item) => item.status === "completed");
    const [diff, ...more] = content.filter((part) => part.type === "diff");
    expect(more).toEqual([]);
    expect(diff).toMatchObject({ path: "src/a.ts", oldText: expect.stringContaining("b = 2"), newText: expect.stringContaining("b = 3") });

    // The files can be restored to their state before the prompt, and that can be undone.
    const id = await created(panel);
    const said = await panel.sees("user", (item) => item.checkpoint !== undefined);
    panel.send({ type: "restore", conversationId: id, itemId: said.id });
    const restore = await panel.sees("restore");
    expect(restore.text).toBe("Restored 1 file.");
    expect(readFileSync(join(daemon.workspace, "src/a.ts"), "utf8")).toContain("b = 2");
    panel.send({ type: "restore", conversationId: id, itemId: restore.id });
    await panel.sees("restore", (item) => item.id !== restore.id);
    expect(readFileSync(join(daemon.workspace, "src/a.ts"), "utf8")).toContain("b = 3");
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "And now?" });
    await panel.turnEnds();
    expect(JSON.stringify(model.requests.findLast(({ body }) => body.tools)?.body)).toContain("the user has restored the files");
    await panel.close();
  });

  test("can be cancelled while it is answering", async () => {
    await startAgentSession();
    const panel = await openPanel(daemon);
    model.script = [{ sayAndHang: "Let me think about" }];
    panel.send({ type: "prompt", requestId: "1", text: "Think" });
    const words = await panel.sees("assistant", (item) => item.text.includes("about"));
    expect(await idleMs()).toBe(0);
    const id = await created(panel);
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "Me too" });
    await expect
      .poll(() => panel.messages.find((message) => message.type === "refused"))
      .toMatchObject({ requestId: "2", code: "agent_busy" });
    const queued = async () => (await conversation(id))?.queue ?? [];
    for (const text of ["First in the queue", "Second in the queue", "Never sent"])
      panel.send({ type: "queue", requestId: text, conversationId: id, text });
    await expect.poll(async () => (await queued()).length).toBe(3);
    panel.send({ type: "unqueue", conversationId: id, queuedId: (await queued())[2]!.id });
    panel.send({ type: "cancel", conversationId: id });
    expect(await panel.turnEnds()).toMatchObject({ stopReason: "cancelled" });
    // After a cancel the queue waits for a person, and then continues by itself.
    expect((await queued()).map(({ text }) => text)).toEqual(["First in the queue", "Second in the queue"]);
    panel.send({ type: "sendQueued", conversationId: id, queuedId: (await queued())[0]!.id });
    expect([(await panel.turnEnds()).stopReason, (await panel.turnEnds()).stopReason]).toEqual(["end_turn", "end_turn"]);
    expect(panel.items().flatMap((item) => (item.kind === "user" ? item.text : []))).toEqual([
      "Think",
      "First in the queue",
      "Second in the queue",
    ]);
    await expect.poll(idleMs).toBeGreaterThan(0);
    expect(words.text).toBe("Let me think about");
    model.script = [{ say: "Back again." }];
    panel.send({ type: "prompt", requestId: "3", conversationId: id, text: "Go on" });
    await panel.sees("assistant", (item) => item.text === "Back again.");
    await panel.close();
  });

  test("shows the message of a model error and stays usable", async () => {
    await startAgentSession();
    const panel = await openPanel(daemon);
    // Some agents retry.
    model.script = Array.from({ length: 20 }, () => ({ status: 400, error: "There is no such model" }));
    panel.send({ type: "prompt", requestId: "1", text: "Say something" });
    await expect.poll(() => JSON.stringify(panel.items())).toContain("There is no such model");
    expect(JSON.stringify(panel.items())).not.toContain("Internal error");
    const id = await created(panel);
    await expect.poll(() => isBusy(id)).toBe(false);
    model.script = [];
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "Again" });
    await panel.sees("assistant", (item) => item.text === "Done.");
    await panel.close();
  });

  test("works in the selected mode", async () => {
    await startAgentSession();
    const panel = await openPanel(daemon);
    // The agent says what it offers before the first prompt, and others do not see the empty conversation.
    panel.send({ type: "prepare", requestId: "0" });
    const id = await created(panel);
    const offered = () => panel.messages.findLast((each) => each.type === "conversation" && each.conversation.id === id);
    await expect.poll(offered, { timeout: 30_000 }).toMatchObject({
      conversation: {
        commands: expect.arrayContaining([expect.objectContaining({ name: agent.command })]),
        models: { current: expect.stringContaining("scripted") },
      },
    });
    expect(await conversation(id)).toBeUndefined();
    if (agent.otherModel) {
      panel.send({ type: "model", conversationId: id, modelId: agent.otherModel });
      await expect.poll(offered).toMatchObject({ conversation: { models: { current: agent.otherModel } } });
    }
    panel.send({ type: "prompt", requestId: "1", conversationId: id, text: "Hello" });
    await panel.turnEnds();
    const sentModel = model.requests.findLast(({ body }) => body.tools)?.body.model;
    expect(sentModel).toBe(agent.otherModel ?? "scripted");
    const modes = async () => (await conversation(id))?.modes;
    const { current, available } = (await modes())!;
    expect(available.map((mode) => mode.id)).toEqual(expect.arrayContaining([current, agent.carefulMode]));
    panel.send({ type: "mode", conversationId: id, modeId: agent.carefulMode });
    await expect.poll(async () => (await modes())?.current).toBe(agent.carefulMode);
    // In this mode the agent asks first, or cannot write at all.
    model.script = [writeHello("careful.txt"), { say: "Understood." }];
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "Write careful.txt" });
    await expect.poll(() => panel.items().some(({ kind }) => kind === "permission") || !model.script.length).toBe(true);
    expect(existsSync(join(daemon.workspace, "careful.txt"))).toBe(false);
    panel.send({ type: "cancel", conversationId: id });
    await expect.poll(() => isBusy(id)).toBe(false);
    expect(existsSync(join(daemon.workspace, "careful.txt"))).toBe(false);
    await panel.close();
  });

  // From here on with one of OpenAI's own models, which agents call through the Responses API.
  const openAi = { ...agent.askFirst, OPENAI_MODEL: "gpt-5" };
  const writeWithOpenAi = (name: string) => agent.writeForOpenAi(join(daemon.workspace, name), "hello\n");

  test("answers a prompt over server-sent events, without a browser", async () => {
    await startAgentSession({ extra: openAi, autoStartAgent: false });
    expect((await agentState(daemon)).status).toBe("stopped");
    model.script = [writeWithOpenAi("driven.txt"), { say: "Written." }];
    const reply = await daemon.fetch("/agent/prompt", { method: "POST", body: { text: "Write driven.txt", permissions: "allow" } });
    expect(reply.headers["content-type"]).toBe("text/event-stream");
    const events = reply.text
      .split("\n\n")
      .filter((part) => part.startsWith("data: "))
      .map((part) => JSON.parse(part.slice(6)) as AgentMessage);
    expect(events[0]).toMatchObject({ type: "conversation", conversation: { busy: true } });
    expect(events.at(-1)).toMatchObject({ type: "turn", stopReason: "end_turn" });
    expect(readFileSync(join(daemon.workspace, "driven.txt"), "utf8")).toBe("hello\n");
    expect(model.requests.at(-1)).toMatchObject({ path: "/v1/responses", body: { model: "gpt-5" } });
    // Writes with a relative path are refused.
    expect(existsSync(join(process.cwd(), daemon.workspace))).toBe(false);
    expect(readdirSync(daemon.workspace)).not.toContain(daemon.workspace.split("/")[1]);
    const { id } = events[0]!.type === "conversation" ? events[0].conversation : { id: "" };
    const { items } = (await daemon.fetch(`/agent/conversations/${id}`)).json;
    expect(items.map((item: ConversationItem) => item.kind)).toEqual(["user", "tool", "permission", "assistant"]);
    expect(items[1]).toMatchObject({ title: agent.writeTitle("driven.txt"), status: "completed" });
    expect(items[1]?.kind === "tool" && items[1].content).toContainEqual(
      expect.objectContaining({ type: "diff", path: "driven.txt", newText: "hello\n" }),
    );

    // Closing the connection cancels the turn.
    model.script = [{ sayAndHang: "Wait for" }];
    const open = await daemon.open("/agent/prompt", { method: "POST", body: { text: "Go on", conversationId: id } });
    await once(open, "data");
    open.destroy();
    await expect.poll(() => isBusy(id)).toBe(false);
    expect((await daemon.fetch(`/agent/conversations/${id}`, { method: "DELETE" })).status).toBe(204);
    expect((await daemon.fetch(`/agent/conversations/${id}`)).status).toBe(404);
  });

  test("asks for permission, which any browser can grant, and which a cancel withdraws", async () => {
    await startAgentSession({ extra: openAi });
    const [first, second] = [await openPanel(daemon), await openPanel(daemon)];
    model.script = [writeWithOpenAi("asked.txt"), { say: "Written." }];
    first.send({ type: "prompt", requestId: "1", text: "Write asked.txt" });
    const question = await first.sees("permission");
    expect(existsSync(join(daemon.workspace, "asked.txt"))).toBe(false);
    // A turn that waits for a person is not work.
    await expect.poll(idleMs).toBeGreaterThan(0);
    const id = await created(first);
    const allow = question.options.find((option) => option.kind === "allow_once");
    second.send({ type: "answer", conversationId: id, itemId: question.id, optionId: allow!.id });
    await first.sees("assistant", (item) => item.text === "Written.");
    expect(existsSync(join(daemon.workspace, "asked.txt"))).toBe(true);
    expect(await first.sees("permission")).toMatchObject({ outcome: { type: "selected", optionId: allow!.id } });
    second.send({ type: "answer", conversationId: id, itemId: question.id, optionId: allow!.id });
    await expect.poll(() => second.messages.find((message) => message.type === "refused")).toMatchObject({ code: "agent_answered" });
    await expect.poll(() => isBusy(id)).toBe(false);

    model.script = [writeWithOpenAi("never.txt")];
    first.send({ type: "prompt", requestId: "2", conversationId: id, text: "And another" });
    const nextQuestion = await first.sees("permission", (item) => item.id !== question.id);
    first.send({ type: "cancel", conversationId: id });
    await first.sees("permission", (item) => item.id === nextQuestion.id && item.outcome?.type === "cancelled");
    await expect.poll(() => isBusy(id)).toBe(false);
    expect(existsSync(join(daemon.workspace, "never.txt"))).toBe(false);
    await first.close();
    await second.close();
  });

  // The daemon restarts every agent in the same way, and the next test loads a conversation with each of them. A start of opencode
  // takes as long as all tests with goose.
  if (agent === preferredAgent) testRestart();

  test("continues the conversation after a stop of the sandbox", async () => {
    await startAgentSession({ extra: openAi });
    const panel = await openPanel(daemon);
    panel.send({ type: "prompt", requestId: "1", text: "My name is Ada" });
    await panel.turnEnds();
    const before = panel.items();
    const id = await created(panel);
    await daemon.fetch("/internal/stop", { method: "POST", body: {} });
    await daemon.stop();
    await daemon.restart();
    // The agent starts automatically.
    await startAgentSession({ extra: openAi });
    await agentBecomes(daemon, "ready");

    const again = await openPanel(daemon, id);
    await expect.poll(() => again.items()).toEqual(before);
    again.send({ type: "prompt", requestId: "2", conversationId: id, text: "What is my name?" });
    await expect.poll(() => again.items().filter((item) => item.kind === "assistant").length).toBe(2);
    expect(JSON.stringify(model.requests.findLast((request) => request.body.tools)?.body)).toContain("My name is Ada");
    expect(again.items().filter((item) => item.kind === "notice")).toEqual([]);
    await again.close();
  });

  test("stops on request", async () => {
    expect(pidOf()).toBeDefined();
    await daemon.fetch("/agent/stop", { method: "POST" });
    expect((await agentState(daemon)).status).toBe("stopped");
    await expect.poll(pidOf).toBeUndefined();
  });

  function testRestart(): void {
    test("restarts after it was killed and remembers the conversation", async () => {
      await startAgentSession({ extra: openAi });
      const panel = await openPanel(daemon);
      // A model that is known to see images gets the one of the prompt.
      const picture = await daemon.fetch<{ id: string }>("/agent/images", { method: "POST", body: PIXEL });
      expect((await daemon.fetch("/agent/images", { method: "POST", body: "no picture" })).status).toBe(400);
      expect((await daemon.fetch(`/agent/images/${picture.json.id}`)).bytes).toEqual(PIXEL);
      panel.send({ type: "prompt", requestId: "1", text: "My name is Ada", images: [picture.json.id] });
      await panel.turnEnds();
      expect(model.requests.some(({ body }) => JSON.stringify(body).includes(PIXEL.toString("base64")))).toBe(true);
      const id = await created(panel);

      model.script = [{ sayAndHang: "Half a sen" }];
      panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "Go on" });
      await panel.sees("assistant", (item) => item.text.startsWith("Half"));
      process.kill(Number(pidOf()), "SIGKILL");
      expect((await panel.sees("notice")).text).toContain("stopped unexpectedly");
      await agentBecomes(daemon, "ready");
      panel.send({ type: "prompt", requestId: "3", conversationId: id, text: "What is my name?" });
      const lastRequest = () => JSON.stringify(model.requests.findLast((request) => request.body.tools)?.body);
      await expect.poll(lastRequest).toContain("What is my name?");
      expect(lastRequest()).toContain("My name is Ada");
      await panel.sees("user", (item) => item.text === "My name is Ada");
      await panel.close();
    });
  }
}
