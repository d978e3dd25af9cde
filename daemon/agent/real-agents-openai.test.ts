import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AgentMessage, ConversationItem } from "@berth/contract/agent.ts";
import { AGENTS, runsEveryTest, type TestAgent } from "../../tests/support/agents/agents.ts";
import { describeWith } from "../../tests/support/machine.ts";
import { agentBecomes, agentState, openPanel } from "../testing/agent-panel.ts";
import { runAgent } from "../testing/run-agent.ts";

const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==", "base64");

// The agent with one of OpenAI's own models, which agents call through the Responses API.
for (const agent of AGENTS.filter(runsEveryTest)) describeWith(agent.missing, agent.name, { timeout: 120_000 }, () => testAgent(agent));

function testAgent(agent: TestAgent): void {
  const running = runAgent(agent);
  const { startAgentSession, pidOf, isBusy, idleMs, created } = running;

  const openAi = { ...agent.askFirst, OPENAI_MODEL: "gpt-5" };
  const writeWithOpenAi = (name: string) => agent.writeForOpenAi(join(running.daemon.workspace, name), "hello\n");

  test("answers a prompt over server-sent events, without a browser", async () => {
    await startAgentSession({ extra: openAi, autoStartAgent: false });
    expect((await agentState(running.daemon)).status).toBe("stopped");
    running.model.script = [writeWithOpenAi("driven.txt"), { say: "Written." }];
    const response = await running.daemon.fetch("/agent/prompt", {
      method: "POST",
      body: { text: "Write driven.txt", permissions: "allow" },
    });
    expect(response.headers["content-type"]).toBe("text/event-stream");
    const events = response.text
      .split("\n\n")
      .filter((part) => part.startsWith("data: "))
      .map((part) => JSON.parse(part.slice(6)) as AgentMessage);
    expect(events[0]).toMatchObject({ type: "conversation", conversation: { busy: true } });
    expect(events.at(-1)).toMatchObject({ type: "turn", stopReason: "end_turn" });
    expect(readFileSync(join(running.daemon.workspace, "driven.txt"), "utf8")).toBe("hello\n");
    expect(running.model.requests.at(-1)).toMatchObject({ path: "/v1/responses", body: { model: "gpt-5" } });
    // Writes with a relative path are refused.
    expect(existsSync(join(process.cwd(), running.daemon.workspace))).toBe(false);
    expect(readdirSync(running.daemon.workspace)).not.toContain(running.daemon.workspace.split("/")[1]);
    const { id } = events[0]!.type === "conversation" ? events[0].conversation : { id: "" };
    const { items } = (await running.daemon.fetch(`/agent/conversations/${id}`)).json;
    expect(items.map((item: ConversationItem) => item.kind)).toEqual(["user", "tool", "permission", "assistant", "changes"]);
    expect(items[1]).toMatchObject({ title: agent.writeTitle("driven.txt"), status: "completed" });
    expect(items[4]).toMatchObject({
      files: [{ path: "driven.txt", kind: "added", hunks: [{ lines: [{ kind: "added", text: "hello" }] }] }],
    });

    // Closing the connection cancels the turn.
    running.model.script = [{ sayAndHang: "Wait for" }];
    const open = await running.daemon.open("/agent/prompt", { method: "POST", body: { text: "Go on", conversationId: id } });
    await once(open, "data");
    open.destroy();
    await expect.poll(() => isBusy(id)).toBe(false);
    expect((await running.daemon.fetch(`/agent/conversations/${id}`, { method: "DELETE" })).status).toBe(204);
    expect((await running.daemon.fetch(`/agent/conversations/${id}`)).status).toBe(404);
  });

  test("asks for permission, which any browser can grant, and which a cancel withdraws", async () => {
    await startAgentSession({ extra: openAi });
    const [first, second] = [await openPanel(running.daemon), await openPanel(running.daemon)];
    running.model.script = [writeWithOpenAi("asked.txt"), { say: "Written." }];
    first.send({ type: "prompt", requestId: "1", text: "Write asked.txt" });
    const question = await first.sees("permission");
    expect(existsSync(join(running.daemon.workspace, "asked.txt"))).toBe(false);
    // A turn that waits for a person is not work.
    await expect.poll(idleMs).toBeGreaterThan(0);
    const id = await created(first);
    const allow = question.options.find((option) => option.kind === "allow_once");
    second.send({ type: "answer", conversationId: id, itemId: question.id, optionId: allow!.id });
    await first.sees("assistant", (item) => item.text === "Written.");
    expect(existsSync(join(running.daemon.workspace, "asked.txt"))).toBe(true);
    expect(await first.sees("permission")).toMatchObject({ outcome: { type: "selected", optionId: allow!.id } });
    second.send({ type: "answer", conversationId: id, itemId: question.id, optionId: allow!.id });
    await expect.poll(() => second.messages.find((message) => message.type === "refused")).toMatchObject({ code: "agent_answered" });
    await expect.poll(() => isBusy(id)).toBe(false);

    running.model.script = [writeWithOpenAi("never.txt")];
    first.send({ type: "prompt", requestId: "2", conversationId: id, text: "And another" });
    const nextQuestion = await first.sees("permission", (item) => item.id !== question.id);
    first.send({ type: "cancel", conversationId: id });
    await first.sees("permission", (item) => item.id === nextQuestion.id && item.outcome?.type === "cancelled");
    await expect.poll(() => isBusy(id)).toBe(false);
    expect(existsSync(join(running.daemon.workspace, "never.txt"))).toBe(false);
    await first.close();
    await second.close();
  });

  test("restarts after it was killed and remembers the conversation", async () => {
    await startAgentSession({ extra: openAi });
    const panel = await openPanel(running.daemon);
    // A model that is known to see images gets the one of the prompt.
    const picture = await running.daemon.fetch<{ id: string }>("/agent/images", { method: "POST", body: PIXEL });
    expect((await running.daemon.fetch("/agent/images", { method: "POST", body: "no picture" })).status).toBe(400);
    expect((await running.daemon.fetch(`/agent/images/${picture.json.id}`)).bytes).toEqual(PIXEL);
    panel.send({ type: "prompt", requestId: "1", text: "My name is Ada", images: [picture.json.id] });
    await panel.turnEnds();
    expect(running.model.requests.some(({ body }) => JSON.stringify(body).includes(PIXEL.toString("base64")))).toBe(true);
    const id = await created(panel);

    running.model.script = [{ sayAndHang: "Half a sen" }];
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "Go on" });
    await panel.sees("assistant", (item) => item.text.startsWith("Half"));
    process.kill(Number(pidOf()), "SIGKILL");
    expect((await panel.sees("notice")).text).toContain("stopped unexpectedly");
    await agentBecomes(running.daemon, "ready");
    panel.send({ type: "prompt", requestId: "3", conversationId: id, text: "What is my name?" });
    const lastRequest = () => JSON.stringify(running.model.requests.findLast((request) => request.body.tools)?.body);
    await expect.poll(lastRequest).toContain("What is my name?");
    expect(lastRequest()).toContain("My name is Ada");
    await panel.sees("user", (item) => item.text === "My name is Ada");
    await panel.close();
  });

  test("continues the conversation after a stop of the sandbox", async () => {
    await startAgentSession({ extra: openAi });
    const panel = await openPanel(running.daemon);
    panel.send({ type: "prompt", requestId: "1", text: "My name is Ada" });
    await panel.turnEnds();
    const before = panel.items();
    const id = await created(panel);
    await running.daemon.fetch("/internal/stop", { method: "POST", body: {} });
    await running.daemon.stop();
    await running.daemon.restart();
    // The agent starts automatically.
    await startAgentSession({ extra: openAi });
    await agentBecomes(running.daemon, "ready");

    const again = await openPanel(running.daemon, id);
    await expect.poll(() => again.items()).toEqual(before);
    again.send({ type: "prompt", requestId: "2", conversationId: id, text: "What is my name?" });
    await expect.poll(() => again.items().filter((item) => item.kind === "assistant").length).toBe(2);
    expect(JSON.stringify(running.model.requests.findLast((request) => request.body.tools)?.body)).toContain("My name is Ada");
    expect(again.items().filter((item) => item.kind === "notice")).toEqual([]);
    await again.close();
  });

  test("stops on request", async () => {
    expect(pidOf()).toBeDefined();
    await running.daemon.fetch("/agent/stop", { method: "POST" });
    expect((await agentState(running.daemon)).status).toBe("stopped");
    await expect.poll(pidOf).toBeUndefined();
  });
}
