import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentMessage, ConversationItem } from "@berth/contract/agent.ts";
import { type ModelServer, startModelServer } from "../../tests/support/model-server.ts";
import { startTestDaemon, type TestDaemon } from "../testing.ts";
import { agentBecomes, agentState, openPanel, tellToStart } from "./testing.ts";

const GOOSE = join(import.meta.dirname, "../../node_modules/@aaif/goose-binary-linux-x64/bin/goose");

let daemon: TestDaemon;
let model: ModelServer;
beforeEach(async () => {
  daemon = await startTestDaemon();
  model = await startModelServer();
});
afterEach(async () => {
  await daemon[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

async function startGoose(env: Record<string, string> = {}, autoStartAgent = true): Promise<void> {
  await tellToStart(daemon, {
    env: { GOOSE_PROVIDER: "openai", GOOSE_MODEL: "scripted", OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_API_KEY: "sk-x", ...env },
    agent: {
      command: "goose",
      args: ["acp", "--with-builtin", "developer"],
      env: { GOOSE_DISABLE_KEYRING: "1" },
      requiredEnv: ["GOOSE_PROVIDER"],
    },
    autoStartAgent,
  });
}

const goosePid = () =>
  readdirSync("/proc").find(
    (pid) => /^\d+$/.test(pid) && environOf(pid).includes(`HOME=${daemon.home}`) && commandOf(pid).includes("goose"),
  );
const environOf = (pid: string) => read(`/proc/${pid}/environ`);
const commandOf = (pid: string) => read(`/proc/${pid}/cmdline`);
const read = (path: string) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};

const writeHello = (path = "hello.txt", content = "hello\n") => ({ tool: "write", input: { path: join(daemon.workspace, path), content } });

// With the real program where it is installed (x64 Linux).
describe.skipIf(!existsSync(GOOSE))("goose", () => {
  test("starts by itself only when asked to, and at a word", async () => {
    await startGoose({}, false);
    expect((await agentState(daemon)).status).toBe("stopped");
    expect(goosePid()).toBeUndefined();
    await daemon.fetch("/agent/start", { method: "POST" });
    await agentBecomes(daemon, "ready");
    expect(goosePid()).toBeDefined();
    await daemon.fetch("/agent/stop", { method: "POST" });
    expect((await agentState(daemon)).status).toBe("stopped");
    await expect.poll(goosePid).toBeUndefined();
    await startGoose();
    await agentBecomes(daemon, "ready");
    const pid = goosePid();
    // Told the same again, as at a resume: it goes on.
    await startGoose();
    expect(goosePid()).toBe(pid);
  });

  test("writes a file, shows the difference and the words as they come, to every browser, and names the conversation", async () => {
    await startGoose();
    const [one, other] = [await openPanel(daemon), await openPanel(daemon)];
    model.script = [writeHello(), { say: "I wrote the file for you." }];
    one.send({ type: "prompt", requestId: "r1", text: "Write hello.txt" });
    const created = () => one.messages.find((message) => message.type === "created");
    await expect.poll(created).toMatchObject({ requestId: "r1", conversation: { title: "New conversation" } });
    other.send({ type: "open", conversationId: created()!.conversation.id });
    expect(await one.turnEnds()).toMatchObject({ stopReason: "end_turn" });

    expect(readFileSync(join(daemon.workspace, "hello.txt"), "utf8")).toBe("hello\n");
    const tool = await one.sees("tool", (item) => item.status === "completed");
    expect(tool).toMatchObject({
      toolKind: "edit",
      title: "write · hello.txt",
      content: [{ type: "diff", path: "hello.txt", oldText: null, newText: "hello\n" }],
    });
    expect((await one.sees("assistant")).text).toBe("I wrote the file for you.");
    expect(one.messages.filter((message) => message.type === "append").length).toBeGreaterThan(2);
    await expect.poll(() => other.items()).toEqual(one.items());
    await expect
      .poll(async () => (await daemon.fetch("/agent/conversations")).json.conversations)
      .toMatchObject([{ title: "A fitting title", busy: false, usage: { contextUsed: 150 } }]);
    await one.close();
    await other.close();
  });

  test("is cancelled in the middle of its words", async () => {
    await startGoose();
    const panel = await openPanel(daemon);
    model.script = [{ sayAndHang: "Let me think about" }];
    panel.send({ type: "prompt", requestId: "1", text: "Think" });
    const words = await panel.sees("assistant", (item) => item.text.includes("about"));
    const id = panel.messages.find((message) => message.type === "created")!.conversation.id;
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

  test("asks before it acts, any browser may answer, and a cancel answers too", async () => {
    await startGoose({ GOOSE_MODE: "approve" });
    const [one, other] = [await openPanel(daemon), await openPanel(daemon)];
    model.script = [writeHello(), { say: "Written." }];
    one.send({ type: "prompt", requestId: "1", text: "Write hello.txt" });
    const question = await one.sees("permission");
    expect(existsSync(join(daemon.workspace, "hello.txt"))).toBe(false);
    const { id } = one.messages.find((message) => message.type === "created")!.conversation;
    const allow = question.options.find((option) => option.kind === "allow_once");
    other.send({ type: "answer", conversationId: id, itemId: question.id, optionId: allow!.id });
    await one.sees("assistant", (item) => item.text === "Written.");
    expect(existsSync(join(daemon.workspace, "hello.txt"))).toBe(true);
    expect(await one.sees("permission")).toMatchObject({ outcome: { type: "selected", optionId: allow!.id } });
    other.send({ type: "answer", conversationId: id, itemId: question.id, optionId: allow!.id });
    await expect.poll(() => other.messages.find((message) => message.type === "refused")).toMatchObject({ code: "agent_answered" });

    model.script = [writeHello("never.txt")];
    one.send({ type: "prompt", requestId: "2", conversationId: id, text: "And another" });
    const second = await one.sees("permission", (item) => item.id !== question.id);
    one.send({ type: "cancel", conversationId: id });
    await one.sees("permission", (item) => item.id === second.id && item.outcome?.type === "cancelled");
    await expect.poll(async () => (await daemon.fetch("/agent/conversations")).json.conversations[0]!.busy).toBe(false);
    expect(existsSync(join(daemon.workspace, "never.txt"))).toBe(false);
    await one.close();
    await other.close();
  });

  test("comes back after it was killed, and remembers", async () => {
    await startGoose();
    const panel = await openPanel(daemon);
    panel.send({ type: "prompt", requestId: "1", text: "My name is Ada" });
    await panel.turnEnds();
    const { id } = panel.messages.find((message) => message.type === "created")!.conversation;

    model.script = [{ sayAndHang: "Half a sen" }];
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "Go on" });
    await panel.sees("assistant", (item) => item.text.startsWith("Half"));
    process.kill(Number(goosePid()), "SIGKILL");
    expect((await panel.sees("notice")).text).toContain("stopped unexpectedly");
    await agentBecomes(daemon, "ready");
    panel.send({ type: "prompt", requestId: "3", conversationId: id, text: "What is my name?" });
    const asked = () => JSON.stringify(model.requests.findLast((request) => request.body.tools)?.body.messages);
    await expect.poll(asked).toContain("What is my name?");
    expect(asked()).toContain("My name is Ada");
    await panel.sees("user", (item) => item.text === "My name is Ada");
    await panel.close();
  });

  test("goes on after the sandbox was stopped: conversation on disk, memory in the agent", async () => {
    await startGoose();
    const panel = await openPanel(daemon);
    panel.send({ type: "prompt", requestId: "1", text: "My name is Ada" });
    await panel.turnEnds();
    const before = panel.items();
    const { id } = panel.messages.find((message) => message.type === "created")!.conversation;
    await daemon.fetch("/internal/stop", { method: "POST", body: {} });
    await daemon.stop();
    await daemon.restart();
    await startGoose();

    const again = await openPanel(daemon, id);
    await expect.poll(() => again.items()).toEqual(before);
    again.send({ type: "prompt", requestId: "2", conversationId: id, text: "What is my name?" });
    await expect.poll(() => again.items().filter((item) => item.kind === "assistant").length).toBe(2);
    expect(JSON.stringify(model.requests.findLast((request) => request.body.tools)?.body.messages)).toContain("My name is Ada");
    expect(again.items().filter((item) => item.kind === "notice")).toEqual([]);
    await again.close();
  });

  test("is driven without a browser by server-sent events", async () => {
    await startGoose({ GOOSE_MODE: "approve" }, false);
    model.script = [writeHello(), { say: "Written." }];
    const reply = await daemon.fetch("/agent/prompt", { method: "POST", body: { text: "Write hello.txt", permissions: "allow" } });
    expect(reply.headers["content-type"]).toBe("text/event-stream");
    const events = reply.text
      .split("\n\n")
      .filter((part) => part.startsWith("data: "))
      .map((part) => JSON.parse(part.slice(6)) as AgentMessage);
    expect(events[0]).toMatchObject({ type: "conversation", conversation: { busy: true } });
    expect(events.at(-1)).toMatchObject({ type: "turn", stopReason: "end_turn" });
    expect(readFileSync(join(daemon.workspace, "hello.txt"), "utf8")).toBe("hello\n");
    const { id } = events[0]!.type === "conversation" ? events[0].conversation : { id: "" };
    expect((await daemon.fetch(`/agent/conversations/${id}`)).json.items.map((item: ConversationItem) => item.kind)).toEqual([
      "user",
      "tool",
      "permission",
      "assistant",
    ]);

    // Hanging up cancels.
    model.script = [{ sayAndHang: "Wait for" }];
    const open = await daemon.open("/agent/prompt", { method: "POST", body: { text: "Go on", conversationId: id } });
    await once(open, "data");
    open.destroy();
    await expect.poll(async () => (await daemon.fetch("/agent/conversations")).json.conversations[0]!.busy).toBe(false);
    expect((await daemon.fetch(`/agent/conversations/${id}`, { method: "DELETE" })).status).toBe(204);
    expect((await daemon.fetch("/agent/conversations")).json.conversations).toEqual([]);
  });

  test("tells an error of the model in its own words and stays of use", async () => {
    await startGoose();
    const panel = await openPanel(daemon);
    // It tries more than once.
    model.script = Array.from({ length: 20 }, () => ({ status: 400, error: "There is no such model" }));
    panel.send({ type: "prompt", requestId: "1", text: "Say something" });
    await expect.poll(() => JSON.stringify(panel.items())).toContain("There is no such model");
    const { id } = panel.messages.find((message) => message.type === "created")!.conversation;
    await expect.poll(async () => (await daemon.fetch("/agent/conversations")).json.conversations[0]!.busy).toBe(false);
    model.script = [];
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "Again" });
    await panel.sees("assistant", (item) => item.text === "Done.");
    await panel.close();
  });
});
