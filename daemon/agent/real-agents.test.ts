import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { AgentMessage, ConversationItem } from "@berth/contract/agent.ts";
import { withModelSettings } from "../../server/agents/settings.ts";
import { AGENTS, type TestAgent } from "../../tests/support/agents/agents.ts";
import { describeWith } from "../../tests/support/machine.ts";
import { type ModelServer, startModelServer } from "../../tests/support/agents/model-server.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";
import { agentBecomes, agentState, openPanel, type Panel, tellToStart } from "../testing/agent-panel.ts";

// The same for every agent, with the real program where this machine has it. One daemon serves all tests of an agent, in
// this order: some agents take seconds to start.
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
  // The end of one test's turn must not count as the next one's.
  afterEach(() => expect.poll(async () => (await conversations()).some(({ busy }) => busy)).toBe(false));

  async function begin({
    extra = {},
    autoStartAgent = true,
  }: { extra?: Record<string, string>; autoStartAgent?: boolean } = {}): Promise<void> {
    const env = { OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_API_KEY: "sk-x", OPENAI_MODEL: "scripted", ...extra };
    await tellToStart(daemon, { env, agent: withModelSettings(agent.spec, env), autoStartAgent });
  }

  const pidOf = () =>
    readdirSync("/proc").find(
      (pid) => /^\d+$/.test(pid) && environOf(pid).includes(`HOME=${daemon.home}`) && commandOf(pid).startsWith(`${agent.name}\0`),
    );
  const writeHello = (name = "hello.txt") => agent.write(join(daemon.workspace, name), "hello\n");
  const conversations = async () => (await daemon.fetch("/agent/conversations")).json.conversations;
  const conversation = async (id: string) => (await conversations()).find((each) => each.id === id);
  const isBusy = async (id: string) => (await conversation(id))?.busy;

  // The id of the conversation that a panel's first prompt has begun.
  async function created(panel: Panel): Promise<string> {
    const message = () => panel.messages.find(({ type }) => type === "created");
    await expect.poll(message).toBeDefined();
    return panel.messages.find((each) => each.type === "created")!.conversation.id;
  }

  test("starts on request when it was not asked to start by itself", async () => {
    await begin({ autoStartAgent: false });
    expect((await agentState(daemon)).status).toBe("stopped");
    expect(pidOf()).toBeUndefined();
    await daemon.fetch("/agent/start", { method: "POST" });
    await agentBecomes(daemon, "ready");
    const pid = pidOf();
    expect(pid).toBeDefined();
    // Ports that it opens for itself are not shown to people.
    expect((await daemon.fetch("/ports")).json.ports).toEqual([]);
    // The same start request again, as at a resume, does not restart it.
    await begin();
    expect(pidOf()).toBe(pid);
  });

  test("writes a file, shows the difference and the words as they come, to every browser, and names the conversation", async () => {
    await begin();
    const [one, other] = [await openPanel(daemon), await openPanel(daemon)];
    model.script = [writeHello(), { say: "I wrote the file for you." }];
    one.send({ type: "prompt", requestId: "r1", text: "Write hello.txt" });
    const id = await created(one);
    expect(one.messages.find(({ type }) => type === "created")).toMatchObject({
      requestId: "r1",
      conversation: { title: "New conversation" },
    });
    other.send({ type: "open", conversationId: id });
    expect(await one.turnEnds()).toMatchObject({ stopReason: "end_turn" });

    expect(readFileSync(join(daemon.workspace, "hello.txt"), "utf8")).toBe("hello\n");
    const tool = await one.sees("tool", (item) => item.status === "completed");
    expect(tool).toMatchObject({ toolKind: "edit", title: agent.writeTitle("hello.txt") });
    const diffs = tool.content.filter((content) => content.type === "diff");
    expect(diffs).toEqual([{ type: "diff", path: "hello.txt", oldText: null, newText: "hello\n" }]);
    expect((await one.sees("assistant")).text).toBe("I wrote the file for you.");
    expect(one.messages.filter((message) => message.type === "append").length).toBeGreaterThan(2);
    await expect.poll(() => other.items()).toEqual(one.items());
    await expect
      .poll(conversations)
      .toMatchObject([
        agent.reportsConversation
          ? { title: "A fitting title", busy: false, usage: { contextUsed: 150 } }
          : { title: "Write hello.txt", busy: false, usage: null },
      ]);
    await one.close();
    await other.close();
  });

  test("edits a file and shows the lines that changed", async () => {
    await begin();
    const panel = await openPanel(daemon);
    await daemon.fetch("/files/content?path=src%2Fa.ts", { method: "PUT", body: "const a = 1;\nconst b = 2;\n" });
    model.script = [agent.edit(join(daemon.workspace, "src/a.ts"), "const b = 2;", "const b = 3;"), { say: "Edited." }];
    panel.send({ type: "prompt", requestId: "1", text: "Make b three" });
    await panel.turnEnds();
    expect(readFileSync(join(daemon.workspace, "src/a.ts"), "utf8")).toBe("const a = 1;\nconst b = 3;\n");
    const { content } = await panel.sees("tool", (item) => item.status === "completed");
    const [diff, ...more] = content.filter((part) => part.type === "diff");
    expect(more).toEqual([]);
    expect(diff).toMatchObject({ path: "src/a.ts", oldText: expect.stringContaining("b = 2"), newText: expect.stringContaining("b = 3") });
    await panel.close();
  });

  test("is cancelled in the middle of its words", async () => {
    await begin();
    const panel = await openPanel(daemon);
    model.script = [{ sayAndHang: "Let me think about" }];
    panel.send({ type: "prompt", requestId: "1", text: "Think" });
    const words = await panel.sees("assistant", (item) => item.text.includes("about"));
    const id = await created(panel);
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "Me too" });
    await expect
      .poll(() => panel.messages.find((message) => message.type === "refused"))
      .toMatchObject({ requestId: "2", code: "agent_busy" });
    panel.send({ type: "cancel", conversationId: id });
    expect(await panel.turnEnds()).toMatchObject({ stopReason: "cancelled" });
    expect(words.text).toBe("Let me think about");
    model.script = [{ say: "Back again." }];
    panel.send({ type: "prompt", requestId: "3", conversationId: id, text: "Go on" });
    await panel.sees("assistant", (item) => item.text === "Back again.");
    await panel.close();
  });

  test("shows an error of the model in plain words and stays usable", async () => {
    await begin();
    const panel = await openPanel(daemon);
    // Some try more than once.
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

  test("works in the mode that is chosen", async () => {
    await begin();
    const panel = await openPanel(daemon);
    panel.send({ type: "prompt", requestId: "1", text: "Hello" });
    await panel.turnEnds();
    const id = await created(panel);
    const modes = async () => (await conversation(id))?.modes;
    const { current, available } = (await modes())!;
    expect(available.map((mode) => mode.id)).toEqual(expect.arrayContaining([current, agent.carefulMode]));
    panel.send({ type: "mode", conversationId: id, modeId: agent.carefulMode });
    await expect.poll(async () => (await modes())?.current).toBe(agent.carefulMode);
    // It asks first, or the model may not write at all.
    model.script = [writeHello("careful.txt"), { say: "Understood." }];
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "Write careful.txt" });
    await expect.poll(() => panel.items().some(({ kind }) => kind === "permission") || !model.script.length).toBe(true);
    expect(existsSync(join(daemon.workspace, "careful.txt"))).toBe(false);
    panel.send({ type: "cancel", conversationId: id });
    await expect.poll(() => isBusy(id)).toBe(false);
    expect(existsSync(join(daemon.workspace, "careful.txt"))).toBe(false);
    await panel.close();
  });

  // From here on with a model of OpenAI's own, which is asked over another interface.
  const later = { ...agent.askFirst, OPENAI_MODEL: "gpt-5" };
  const writeLater = (name: string) => agent.writeForOpenAi(join(daemon.workspace, name), "hello\n");

  test("is driven without a browser by server-sent events", async () => {
    await begin({ extra: later, autoStartAgent: false });
    expect((await agentState(daemon)).status).toBe("stopped");
    model.script = [writeLater("driven.txt"), { say: "Written." }];
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
    // What it lets us write has an absolute path, or is not written.
    expect(existsSync(join(process.cwd(), daemon.workspace))).toBe(false);
    expect(readdirSync(daemon.workspace)).not.toContain(daemon.workspace.split("/")[1]);
    const { id } = events[0]!.type === "conversation" ? events[0].conversation : { id: "" };
    const { items } = (await daemon.fetch(`/agent/conversations/${id}`)).json;
    expect(items.map((item: ConversationItem) => item.kind)).toEqual(["user", "tool", "permission", "assistant"]);
    expect(items[1]).toMatchObject({ title: agent.writeTitle("driven.txt"), status: "completed" });
    expect(items[1]?.kind === "tool" && items[1].content).toContainEqual(
      expect.objectContaining({ type: "diff", path: "driven.txt", newText: "hello\n" }),
    );

    // Hanging up cancels.
    model.script = [{ sayAndHang: "Wait for" }];
    const open = await daemon.open("/agent/prompt", { method: "POST", body: { text: "Go on", conversationId: id } });
    await once(open, "data");
    open.destroy();
    await expect.poll(() => isBusy(id)).toBe(false);
    expect((await daemon.fetch(`/agent/conversations/${id}`, { method: "DELETE" })).status).toBe(204);
    expect((await daemon.fetch(`/agent/conversations/${id}`)).status).toBe(404);
  });

  test("asks before it acts, any browser may answer, and a cancel answers too", async () => {
    await begin({ extra: later });
    const [one, other] = [await openPanel(daemon), await openPanel(daemon)];
    model.script = [writeLater("asked.txt"), { say: "Written." }];
    one.send({ type: "prompt", requestId: "1", text: "Write asked.txt" });
    const question = await one.sees("permission");
    expect(existsSync(join(daemon.workspace, "asked.txt"))).toBe(false);
    const id = await created(one);
    const allow = question.options.find((option) => option.kind === "allow_once");
    other.send({ type: "answer", conversationId: id, itemId: question.id, optionId: allow!.id });
    await one.sees("assistant", (item) => item.text === "Written.");
    expect(existsSync(join(daemon.workspace, "asked.txt"))).toBe(true);
    expect(await one.sees("permission")).toMatchObject({ outcome: { type: "selected", optionId: allow!.id } });
    other.send({ type: "answer", conversationId: id, itemId: question.id, optionId: allow!.id });
    await expect.poll(() => other.messages.find((message) => message.type === "refused")).toMatchObject({ code: "agent_answered" });
    await expect.poll(() => isBusy(id)).toBe(false);

    model.script = [writeLater("never.txt")];
    one.send({ type: "prompt", requestId: "2", conversationId: id, text: "And another" });
    const second = await one.sees("permission", (item) => item.id !== question.id);
    one.send({ type: "cancel", conversationId: id });
    await one.sees("permission", (item) => item.id === second.id && item.outcome?.type === "cancelled");
    await expect.poll(() => isBusy(id)).toBe(false);
    expect(existsSync(join(daemon.workspace, "never.txt"))).toBe(false);
    await one.close();
    await other.close();
  });

  test("comes back after it was killed, and remembers", async () => {
    await begin({ extra: later });
    const panel = await openPanel(daemon);
    panel.send({ type: "prompt", requestId: "1", text: "My name is Ada" });
    await panel.turnEnds();
    const id = await created(panel);

    model.script = [{ sayAndHang: "Half a sen" }];
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "Go on" });
    await panel.sees("assistant", (item) => item.text.startsWith("Half"));
    process.kill(Number(pidOf()), "SIGKILL");
    expect((await panel.sees("notice")).text).toContain("stopped unexpectedly");
    await agentBecomes(daemon, "ready");
    panel.send({ type: "prompt", requestId: "3", conversationId: id, text: "What is my name?" });
    const asked = () => JSON.stringify(model.requests.findLast((request) => request.body.tools)?.body);
    await expect.poll(asked).toContain("What is my name?");
    expect(asked()).toContain("My name is Ada");
    await panel.sees("user", (item) => item.text === "My name is Ada");
    await panel.close();
  });

  test("goes on after the sandbox was stopped: conversation on disk, memory in the agent", async () => {
    await begin({ extra: later });
    const panel = await openPanel(daemon);
    panel.send({ type: "prompt", requestId: "1", text: "My name is Ada" });
    await panel.turnEnds();
    const before = panel.items();
    const id = await created(panel);
    await daemon.fetch("/internal/stop", { method: "POST", body: {} });
    await daemon.stop();
    await daemon.restart();
    // It starts by itself.
    await begin({ extra: later });
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
}

const environOf = (pid: string) => read(`/proc/${pid}/environ`);
const commandOf = (pid: string) => read(`/proc/${pid}/cmdline`);
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
