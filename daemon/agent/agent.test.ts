import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentCommand } from "@berth/contract/agent.ts";
import type { StartRequest } from "@berth/contract/daemon-internal.ts";
import { agentBecomes, agentState, openPanel, startSession } from "../testing/agent-panel.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";
import { startScripted } from "../testing/scripted-agent.ts";
import { readScriptedAgent } from "../../tests/support/agents/scripted-agent.ts";

let daemon: TestDaemon;
beforeEach(async () => void (daemon = await startTestDaemon({ BERTH_AGENT_TIMEOUT_MS: "4000" })));
afterEach(() => daemon[Symbol.asyncDispose]());

const agentOf = (...command: string[]): NonNullable<StartRequest["agent"]> => ({
  command: command[0] ?? "",
  args: command.slice(1),
  env: {},
  requiredEnv: [],
});

describe("the agent", () => {
  test("has the status none if the template has no agent, and a prompt is refused", async () => {
    await startSession(daemon, {});
    expect(await agentState(daemon)).toEqual({ status: "none", name: null });
    expect((await daemon.fetch("/agent/prompt", { method: "POST", body: { text: "hi" } })).json.code).toBe("agent_none");
  });

  test("is unconfigured without its required variables, and is not started", async () => {
    await startSession(daemon, {
      agent: { ...agentOf("/bin/sh", "-c", "touch started"), requiredEnv: ["MODEL_KEY", "OTHER"] },
      env: { OTHER: "x" },
    });
    expect(await agentState(daemon)).toMatchObject({ status: "unconfigured", missing: ["MODEL_KEY"] });
    await daemon.fetch("/agent/start", { method: "POST" });
    const refused = await daemon.fetch("/agent/prompt", { method: "POST", body: { text: "hi" } });
    expect([refused.status, refused.json.code]).toEqual([409, "agent_unconfigured"]);
    expect(existsSync(join(daemon.workspace, "started"))).toBe(false);
  });

  test("is unavailable if its program is not installed, and the message says so", async () => {
    await startSession(daemon, { agent: agentOf("no-such-agent"), fallbackAgents: [agentOf("/nowhere/other-agent")] });
    const message = "The program of the coding agent (no-such-agent or other-agent) is not installed in this sandbox.";
    expect(await agentState(daemon)).toEqual({ status: "unavailable", name: "no-such-agent", message });
    const refused = await daemon.fetch("/agent/prompt", { method: "POST", body: { text: "hi" } });
    expect([refused.status, refused.json.code, refused.json.error]).toEqual([409, "agent_unavailable", message]);
    const panel = await openPanel(daemon);
    panel.send({ type: "prompt", requestId: "1", text: "hello?" });
    expect((await panel.sees("notice")).text).toBe(message);
    expect((await agentState(daemon)).status).toBe("unavailable");
    await panel.close();
  });

  test("becomes available as soon as its program is installed", async () => {
    const program = join(daemon.workspace, "late-agent");
    await startSession(daemon, { agent: agentOf(program) });
    expect((await agentState(daemon)).status).toBe("unavailable");
    writeFileSync(program, "#!/bin/sh\ntouch started; cat\n", { mode: 0o755 });
    expect((await daemon.fetch("/agent/start", { method: "POST" })).status).toBe(200);
    await expect.poll(() => existsSync(join(daemon.workspace, "started"))).toBe(true);
  });

  test("is the first one whose program is installed", async () => {
    const installed = agentOf("/bin/sh", "-c", "touch started; cat");
    const last = agentOf("/bin/sh", "-c", "touch wrong; cat");
    await startSession(daemon, { agent: agentOf("no-such-agent"), fallbackAgents: [{ ...installed, requiredEnv: ["MODEL_KEY"] }, last] });
    expect(await agentState(daemon)).toMatchObject({ status: "unconfigured", name: "sh", missing: ["MODEL_KEY"] });
    await startSession(daemon, { agent: agentOf("no-such-agent"), fallbackAgents: [installed, last] });
    await expect.poll(() => existsSync(join(daemon.workspace, "started"))).toBe(true);
    expect(existsSync(join(daemon.workspace, "wrong"))).toBe(false);
  });

  test("fails if its program cannot be started, and the message says why", async () => {
    const program = join(daemon.workspace, "broken-agent");
    writeFileSync(program, "#!/nowhere/interpreter\n", { mode: 0o755 });
    await startSession(daemon, { agent: agentOf(program) });
    await agentBecomes(daemon, "failed");
    expect((await agentState(daemon)).message).toBe(`The agent's command, or its interpreter, was not found: ${program}`);
    expect((await daemon.fetch("/health")).status).toBe(200);
  });

  test("fails if it never answers, and its process is killed", async () => {
    await startSession(daemon, { agent: agentOf("/bin/sh", "-c", "echo $$ > pid; sleep 600") });
    await agentBecomes(daemon, "failed");
    expect((await agentState(daemon)).message).toContain("did not answer within 4 seconds");
    const pid = readFileSync(join(daemon.workspace, "pid"), "utf8").trim();
    await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
  });

  test("fails after several attempts if it exits immediately, and the message has its last line of stderr", async () => {
    await startSession(daemon, { agent: agentOf("/bin/sh", "-c", "echo again >> tries; echo 'no licence' >&2; exit 3") });
    const panel = await openPanel(daemon);
    await expect.poll(() => readFileSync(join(daemon.workspace, "tries"), "utf8")).toMatch(/^(again\n){3}/);
    panel.send({ type: "prompt", requestId: "1", text: "hello?" });
    const notice = await panel.sees("notice");
    expect(notice.text).toContain("no licence");
    await panel.close();
  });

  test("survives malformed messages from an agent and from a browser", async () => {
    await startSession(daemon, { agent: agentOf("/bin/sh", "-c", "echo not json; echo '[]'; head -c 3000000 /dev/zero; sleep 1") });
    const panel = await openPanel(daemon);
    for (const command of [
      {},
      { type: "?" },
      { type: "open" },
      { type: "open", conversationId: "x" },
      { type: "prompt", requestId: "1" },
      { type: "answer", conversationId: 1 },
    ]) {
      panel.send(command as AgentCommand);
    }
    await expect.poll(() => panel.messages.filter((message) => message.type === "refused").length).toBeGreaterThanOrEqual(4);
    expect((await daemon.fetch("/health")).status).toBe(200);
    await panel.close();
  });

  test("offers commands, modes and models, and sends a plan that grows in place", async () => {
    writeFileSync(join(daemon.workspace, "agent.mjs"), await readScriptedAgent());
    await startSession(daemon, { agent: agentOf(process.execPath, "agent.mjs") });
    await agentBecomes(daemon, "ready");
    const panel = await openPanel(daemon);
    panel.send({ type: "prepare", requestId: "1" });
    const head = () => panel.messages.findLast((message) => message.type === "conversation")?.conversation;
    await expect.poll(head).toMatchObject({
      modes: { current: "ask" },
      models: { current: "small", available: [{ id: "small" }, { id: "large" }] },
      commands: [{ name: "plan", hint: "the goal" }, { name: "edit" }, { name: "ask" }, { name: "model" }, { name: "run" }],
    });
    const { id: conversationId } = head()!;
    panel.send({ type: "model", conversationId, modelId: "large" });
    panel.send({ type: "mode", conversationId, modeId: "code" });
    await expect.poll(head).toMatchObject({ modes: { current: "code" }, models: { current: "large" } });
    panel.send({ type: "prompt", requestId: "2", conversationId, text: "Hello" });
    await panel.turnEnds();
    expect((await panel.sees("assistant")).text).toBe("Hello (mode code, model large, parts text)");
    panel.send({ type: "prompt", requestId: "3", conversationId, text: "/plan it" });
    await panel.turnEnds();
    const plans = panel.items().filter(({ kind }) => kind === "plan");
    const statuses = plans.map((plan) => plan.kind === "plan" && plan.entries.map(({ status }) => status));
    expect(statuses).toEqual([["completed", "completed", "in_progress"]]);
    await panel.close();
  });

  test("asks again in another conversation, and when a person takes a permission back", async () => {
    writeFileSync(join(daemon.workspace, "agent.mjs"), await readScriptedAgent());
    await startSession(daemon, { agent: agentOf(process.execPath, "agent.mjs") });
    const panel = await openPanel(daemon);
    const head = () => panel.messages.findLast((message) => message.type === "conversation")!.conversation;
    const waiting = () => panel.sees("permission", ({ outcome }) => outcome === null);
    const said = (text: string) => panel.sees("assistant", (item) => item.text === text);

    panel.send({ type: "prompt", requestId: "1", text: "/ask touch three" });
    const asked = await waiting();
    expect(asked.options.map(({ name }) => name)).toEqual([
      "allow_once",
      "reject_once",
      "Always allow running commands in this conversation",
    ]);
    const conversationId = head().id;
    panel.send({ type: "answer", conversationId, itemId: asked.id, optionId: asked.options[2]!.id });
    await panel.turnEnds();
    // The agent itself never hears "always".
    await said("The answer is allow_once.");
    expect(head().alwaysAllowed).toEqual(["running commands"]);
    panel.send({ type: "prompt", requestId: "2", conversationId, text: "/ask touch four" });
    expect(await panel.turnEnds()).toMatchObject({ stopReason: "end_turn" });

    panel.send({ type: "prompt", requestId: "3", text: "/ask touch five" });
    const elsewhere = await waiting();
    panel.send({ type: "answer", conversationId: head().id, itemId: elsewhere.id, optionId: "reject_once" });
    await panel.turnEnds();
    await said("The answer is reject_once.");

    panel.send({ type: "disallow", conversationId, action: "running commands" });
    panel.send({ type: "prompt", requestId: "4", conversationId, text: "/ask touch six" });
    await waiting();
    expect((await daemon.fetch("/agent/conversations")).json.conversations.map(({ alwaysAllowed }) => alwaysAllowed)).toEqual([[], []]);
    panel.send({ type: "cancel", conversationId });
    await panel.turnEnds();

    panel.send({ type: "rename", conversationId, title: "  Three files " });
    await expect.poll(() => head()).toMatchObject({ title: "Three files", renamed: true });
    await panel.close();
  });

  test("opens a terminal for the sign-in that it asks for, and starts again when that has succeeded", async () => {
    const { panel, prompt } = await startScripted(daemon, "signed-out");
    await prompt("Hello");
    await panel.turnEnds();
    await agentBecomes(daemon, "unconfigured");
    expect(await agentState(daemon)).toEqual({
      status: "unconfigured",
      name: "node",
      missing: ["SCRIPTED_KEY"],
      message: "The agent requires a sign-in: Authentication required; or set SCRIPTED_KEY for this session",
      signIn: [{ id: "login", name: "Log in", description: "With a code" }],
    });
    const signIn = async (methodId: string) =>
      await daemon.fetch<{ terminalId: string }>("/agent/sign-in", { method: "POST", body: { methodId } });
    expect((await signIn("browser")).status).toBe(404);
    const type = async (line: string) => {
      const [first, second] = await Promise.all([signIn("login"), signIn("login")]);
      expect([first.status, second.json.terminalId]).toEqual([201, first.json.terminalId]);
      const terminal = daemon.connect(`/terminals/${first.json.terminalId}`);
      await once(terminal, "message");
      terminal.send(Buffer.from(`${line}\r`));
      // `terminate` may drop what was sent just now.
      terminal.close();
      await once(terminal, "close");
    };
    await type("wrong");
    await expect.poll(async () => (await agentState(daemon)).message).toBe("The sign-in did not succeed. Try again.");
    await type("1234");
    await agentBecomes(daemon, "ready");
    await panel.close();
    const again = await openPanel(daemon);
    again.send({ type: "prompt", requestId: "2", text: "Hello" });
    await again.sees("assistant", ({ text }) => text === "Hello (mode ask, model small, parts text)");
    expect((await signIn("login")).status).toBe(404);
    await again.close();
  });
});
