import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { PermissionRule } from "@berth/contract/agent.ts";
import type { RunQuestion } from "@berth/contract/daemon/runs.ts";
import { AGENTS, type TestAgent } from "../../tests/support/agents/agents.ts";
import { describeWith } from "../../tests/support/machine.ts";
import { agentBecomes, agentState, openPanel } from "../testing/agent-panel.ts";
import { runAgent } from "../testing/run-agent.ts";
import { runsOf } from "../testing/runs.ts";

// Runs the same tests with every agent that is installed on this machine. The test of the modes is in tests/agents/changes.test.ts.
for (const agent of AGENTS) describeWith(agent.missing, agent.name, { timeout: 120_000 }, () => testAgent(agent));

function testAgent(agent: TestAgent): void {
  // One start of the agent serves all tests, so its model is where runs need it.
  const running = runAgent(agent, { modelPath: "/model/openai/v1" });
  const { startAgentSession, pidOf, writeHello, conversations, conversation, isBusy, idleMs, created } = running;

  beforeAll(() => {
    // The last test looks for requests of npm.
    mkdirSync(running.daemon.home, { recursive: true });
    writeFileSync(join(running.daemon.home, ".npmrc"), `registry=${running.model.url}/npm/\n`);
    // A repository must not change the mode in which opencode asks: a run uses it below.
    const hostile = { permission: { "*": "allow", bash: { "*": "allow" } }, tools: { task: true } };
    const config = { $schema: "https://opencode.ai/config.json", agent: { ask: hostile } };
    writeFileSync(join(running.daemon.workspace, "opencode.json"), JSON.stringify(config));
  });

  test("starts on request if it is not started automatically", async () => {
    await startAgentSession({ autoStartAgent: false });
    expect((await agentState(running.daemon)).status).toBe("stopped");
    expect(pidOf()).toBeUndefined();
    await running.daemon.fetch("/agent/start", { method: "POST" });
    await agentBecomes(running.daemon, "ready");
    const pid = pidOf();
    expect(pid).toBeDefined();
    // The agent's own ports are not listed.
    expect((await running.daemon.fetch("/ports")).json.ports).toEqual([]);
    // A resume repeats the start request, which does not restart the agent.
    await startAgentSession();
    expect(pidOf()).toBe(pid);
  });

  test("writes a file, streams the diff and the text to every browser, and names the conversation", async () => {
    await startAgentSession();
    const [first, second] = [await openPanel(running.daemon), await openPanel(running.daemon)];
    running.model.script = [writeHello(), { say: "I wrote the file for you." }];
    first.send({ type: "prompt", requestId: "r1", text: "Write hello.txt" });
    const id = await created(first);
    expect(first.messages.find(({ type }) => type === "created")).toMatchObject({
      requestId: "r1",
      conversation: { title: "New conversation" },
    });
    second.send({ type: "open", conversationId: id });
    expect(await first.turnEnds()).toMatchObject({ stopReason: "end_turn" });

    expect(readFileSync(join(running.daemon.workspace, "hello.txt"), "utf8")).toBe("hello\n");
    const tool = await first.sees("tool", (item) => item.status === "completed");
    expect(tool).toMatchObject({ toolKind: "edit", title: agent.writeTitle("hello.txt") });
    const { files } = await first.sees("changes", (item) => item.after !== null);
    const hunks = [{ lines: [{ kind: "added", text: "hello" }] }];
    expect(files).toEqual([{ path: "hello.txt", kind: "added", linesAdded: 1, linesRemoved: 0, hunks }]);
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
    const panel = await openPanel(running.daemon);
    await running.daemon.fetch("/files/content?path=src%2Fa.ts", { method: "PUT", body: "const a = 1;\nconst b = 2;\n" });
    running.model.script = [agent.edit(join(running.daemon.workspace, "src/a.ts"), "const b = 2;", "const b = 3;"), { say: "Edited." }];
    const selection = { fromLine: 7, toLine: 7, text: "const selected = unsaved;" };
    panel.send({
      type: "prompt",
      requestId: "1",
      text: "Make b three",
      context: [{ path: "src/a.ts" }, { path: "src/b.ts", selection }],
    });
    await panel.turnEnds();
    const seen = JSON.stringify(running.model.requests.findLast(({ body }) => JSON.stringify(body).includes("Make b three"))?.body);
    expect(["src/a.ts", "const selected = unsaved;"].filter((part) => !seen.includes(part))).toEqual([]);
    expect(readFileSync(join(running.daemon.workspace, "src/a.ts"), "utf8")).toBe("const a = 1;\nconst b = 3;\n");
    const { files } = await panel.sees("changes", (item) => item.after !== null);
    const lines = [
      { kind: "same", text: "const a = 1;" },
      { kind: "removed", text: "const b = 2;" },
      { kind: "added", text: "const b = 3;" },
    ];
    expect(files).toEqual([{ path: "src/a.ts", kind: "modified", linesAdded: 1, linesRemoved: 1, hunks: [{ lines }] }]);

    // The files can be restored to their state before the prompt, and that can be undone.
    const id = await created(panel);
    const said = await panel.sees("user", (item) => item.checkpoint !== undefined);
    panel.send({ type: "restore", conversationId: id, itemId: said.id });
    const restore = await panel.sees("restore");
    expect(restore.text).toBe("Restored 1 file.");
    expect(readFileSync(join(running.daemon.workspace, "src/a.ts"), "utf8")).toContain("b = 2");
    panel.send({ type: "restore", conversationId: id, itemId: restore.id });
    await panel.sees("restore", (item) => item.id !== restore.id);
    expect(readFileSync(join(running.daemon.workspace, "src/a.ts"), "utf8")).toContain("b = 3");
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "And now?" });
    await panel.turnEnds();
    expect(JSON.stringify(running.model.requests.findLast(({ body }) => body.tools)?.body)).toContain("the user has restored the files");
    await panel.close();
  });

  test("can be cancelled before the model answers, and goes on", async () => {
    await startAgentSession();
    const panel = await openPanel(running.daemon);
    const pid = pidOf();
    const before = running.model.requests.length;
    const isAsked = () => running.model.requests.slice(before).some(({ body }) => (body as { tools?: unknown[] }).tools?.length);
    running.model.script = [{ hang: true }, { say: "Here I am." }];
    panel.send({ type: "prompt", requestId: "1", text: "Think" });
    const id = await created(panel);
    await expect.poll(isAsked).toBe(true);
    panel.send({ type: "cancel", conversationId: id });
    expect(await panel.turnEnds()).toMatchObject({ stopReason: "cancelled" });
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "Hello?" });
    expect(await panel.turnEnds()).toMatchObject({ stopReason: "end_turn" });
    expect(panel.items().at(-1)).toMatchObject({ kind: "assistant", text: "Here I am." });
    // An agent that ignores a cancel is killed, and all conversations with it.
    expect(pidOf()).toBe(pid);
    await panel.close();
  });

  test("can be cancelled while it is answering", async () => {
    await startAgentSession();
    const panel = await openPanel(running.daemon);
    running.model.script = [{ sayAndHang: "Let me think about" }];
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
    running.model.script = [{ say: "Back again." }];
    panel.send({ type: "prompt", requestId: "3", conversationId: id, text: "Go on" });
    await panel.sees("assistant", (item) => item.text === "Back again.");
    await panel.close();
  });

  test("shows the message of a model error and stays usable", async () => {
    await startAgentSession();
    const panel = await openPanel(running.daemon);
    // Some agents retry.
    running.model.script = Array.from({ length: 20 }, () => ({ status: 400, error: "There is no such model" }));
    panel.send({ type: "prompt", requestId: "1", text: "Say something" });
    await expect.poll(() => JSON.stringify(panel.items())).toContain("There is no such model");
    expect(JSON.stringify(panel.items())).not.toContain("Internal error");
    const id = await created(panel);
    await expect.poll(() => isBusy(id)).toBe(false);
    running.model.script = [];
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "Again" });
    await panel.sees("assistant", (item) => item.text === "Done.");
    await panel.close();
  });

  test("works on a run: asks over the API, keeps its rules, takes a message, is interrupted, and stops at its limits", async () => {
    await startAgentSession();
    const { start, becomes, call, get } = runsOf(() => running.daemon);
    const exists = (name: string) => existsSync(join(running.daemon.workspace, name));
    const write = (name: string) => agent.write(join(running.daemon.workspace, name), "x\n");
    running.model.script = [write("asked.txt"), { say: "Written." }];
    const id = await start({ prompt: "Write asked.txt" });
    const { waitsFor } = await becomes(id, "needs_input");
    expect(waitsFor).toMatchObject([{ kind: "permission", tool: { kind: "edit" } }]);
    expect(exists("asked.txt")).toBe(false);
    const { itemId, options } = waitsFor[0] as RunQuestion;
    await call(id, "answer", { itemId, optionId: options.find(({ kind }) => kind === "allow_once")!.id });
    await call(id, "messages", { id: "m1", prompt: "Once more" });
    const done = await becomes(id, "succeeded");
    expect(done).toMatchObject({ text: "Done.", files: [{ path: "asked.txt", kind: "added" }], turns: 3, waitsFor: [] });
    expect(done.tokens!.input).toBeGreaterThan(300);
    expect(exists("asked.txt")).toBe(true);

    const permissions: PermissionRule[] = [
      { tool: "edit", path: "src/**", allow: true },
      { tool: "shell", command: "echo *", allow: true },
      { tool: "*", allow: false },
    ];
    running.model.script = [
      write("src/allowed.txt"),
      write("denied.txt"),
      agent.shell("echo fine"),
      agent.shell("echo x > sneaky.txt"),
      agent.shell("echo x; touch sneaky.txt"),
      { say: "Tried." },
    ];
    const ruled = await becomes(await start({ prompt: "Try", permissions }), "succeeded");
    expect(ruled.text).toBe("Tried.");
    expect(["src/allowed.txt", "denied.txt", "sneaky.txt"].map(exists)).toEqual([true, false, false]);

    running.model.script = [{ sayAndHang: "Let me think" }];
    const interrupted = await start({ prompt: "Think", permissions: "allow" });
    await expect.poll(async () => (await get(interrupted)).text).toBe("Let me think");
    expect(await idleMs()).toBe(0);
    await call(interrupted, "interrupt");
    expect(await becomes(interrupted, "interrupted")).toMatchObject({ reason: "requested" });

    running.model.script = [agent.shell("true"), agent.shell("true"), agent.shell("true"), { say: "Never." }];
    const limited = await becomes(await start({ prompt: "Go on", permissions: "allow", maxTurns: 2 }), "interrupted");
    expect(limited).toMatchObject({ reason: "max_turns", turns: 2 });
  });

  test("has downloaded no packages", () => {
    expect(running.model.requests.map(({ path }) => path).filter((path) => path.startsWith("/npm/"))).toEqual([]);
  });
}
