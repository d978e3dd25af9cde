import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { client, methods, PROTOCOL_VERSION, type RequestPermissionRequest, type SessionUpdate } from "@agentclientprotocol/sdk";
import { createWebSocketStream, type WebSocketConstructor } from "@agentclientprotocol/sdk/experimental/ws-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openPanel, startSession } from "../../testing/agent-panel.ts";
import { startScripted } from "../../testing/scripted-agent.ts";
import { startTestDaemon, type TestDaemon } from "../../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeEach(async () => void (daemon = await startTestDaemon({ BERTH_AGENT_TIMEOUT_MS: "4000" })));
afterEach(() => daemon[Symbol.asyncDispose]());

// An editor: the official client of the Agent Client Protocol over a WebSocket.
async function openEditor(answer: (request: RequestPermissionRequest, signal: AbortSignal) => Promise<string | null> = async () => null) {
  const updates: SessionUpdate[] = [];
  const asked: RequestPermissionRequest[] = [];
  const dial = function () {
    return daemon.connect("/acp");
  } as unknown as WebSocketConstructor;
  const stream = createWebSocketStream("ws://daemon/acp", { WebSocket: dial, cookies: "omit" });
  const connection = client({ name: "editor" })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      asked.push(params);
      const optionId = await answer(params, signal);
      return { outcome: optionId === null ? { outcome: "cancelled" } : { outcome: "selected", optionId } };
    })
    .connect(stream);
  const { agent } = connection;
  const about = await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
  const textOf = (kind: SessionUpdate["sessionUpdate"]) =>
    updates
      .flatMap((update) =>
        update.sessionUpdate === kind && "content" in update && update.content && "text" in update.content ? update.content.text : [],
      )
      .join("");
  return {
    agent,
    about,
    updates,
    asked,
    said: () => textOf("agent_message_chunk"),
    heard: () => textOf("user_message_chunk"),
    create: () => agent.request(methods.agent.session.new, { cwd: "/home/ada/project", mcpServers: [] }),
    prompt: (sessionId: string, text: string) =>
      agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] }),
    close: () => connection.close(),
  };
}

describe("a remote client", () => {
  test("works in the same conversation as a browser: both see what the other has said", async () => {
    const { panel } = await startScripted(daemon);
    const editor = await openEditor();
    expect(editor.about).toMatchObject({ protocolVersion: 1, agentCapabilities: { loadSession: true, sessionCapabilities: { list: {} } } });
    const { sessionId, modes } = await editor.create();
    expect(modes).toMatchObject({ currentModeId: "ask", availableModes: [{ id: "ask" }, { id: "code" }] });
    // Like the workspace, it lists a conversation after its first prompt.
    expect((await editor.agent.request(methods.agent.session.list, {})).sessions).toEqual([]);
    expect(await editor.prompt(sessionId, "hello")).toEqual({ stopReason: "end_turn" });
    expect(editor.said()).toContain("hello (mode ask");
    expect(editor.heard()).toBe("");

    panel.send({ type: "open", conversationId: sessionId });
    await panel.sees("user", ({ text }) => text === "hello");
    await panel.sees("assistant", ({ text }) => text.startsWith("hello (mode ask"));
    panel.send({ type: "prompt", requestId: "1", conversationId: sessionId, text: "from the browser" });
    await expect.poll(editor.heard).toBe("from the browser");
    await expect.poll(editor.said).toContain("from the browser (mode ask");

    const second = await openEditor();
    const { sessions } = await second.agent.request(methods.agent.session.list, {});
    expect(sessions).toMatchObject([{ sessionId, title: "hello", cwd: daemon.workspace }]);
    await second.agent.request(methods.agent.session.load, { sessionId, cwd: "/", mcpServers: [] });
    await expect.poll(second.heard).toBe("hellofrom the browser");
    const third = await openEditor();
    await third.agent.request(methods.agent.session.resume, { sessionId, cwd: "/", mcpServers: [] });
    await third.prompt(sessionId, "again");
    expect(third.said()).toMatch(/^again \(mode/);
    await expect.poll(second.heard).toContain("again");
    for (const one of [editor, second, third]) one.close();
    await panel.close();
  });

  test("answers a permission, or learns that a browser has answered it", async () => {
    const { panel } = await startScripted(daemon);
    let wasCancelled = false;
    const editor = await openEditor((request, signal) => {
      if (request.toolCall.title?.includes("rm"))
        return Promise.resolve(request.options.find(({ kind }) => kind === "reject_once")!.optionId);
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          wasCancelled = true;
          resolve(null);
        }),
      );
    });
    const { sessionId } = await editor.create();
    await editor.prompt(sessionId, "/ask rm -rf build");
    expect(editor.asked[0]).toMatchObject({ sessionId, toolCall: { title: "shell · rm -rf build" } });
    expect(editor.said()).toContain("The answer is reject_once.");
    panel.send({ type: "open", conversationId: sessionId });
    expect((await panel.sees("permission")).outcome).toEqual({ type: "selected", optionId: "reject_once" });

    const prompted = editor.prompt(sessionId, "/ask npm test");
    const question = await panel.sees("permission", ({ outcome }) => outcome === null);
    await expect.poll(() => editor.asked.length).toBe(2);
    panel.send({ type: "answer", conversationId: sessionId, itemId: question.id, optionId: "allow_once" });
    await prompted;
    await expect.poll(() => wasCancelled).toBe(true);
    expect(editor.said()).toContain("The answer is allow_once.");

    // An editor that comes later is asked what waits.
    const again = editor.prompt(sessionId, "/ask npm publish");
    await panel.sees("permission", ({ outcome }) => outcome === null);
    const late = await openEditor(async ({ options }) => options.find(({ kind }) => kind === "allow_once")!.optionId);
    await late.agent.request(methods.agent.session.load, { sessionId, cwd: "/", mcpServers: [] });
    await again;
    expect(late.asked).toHaveLength(1);
    for (const one of [editor, late]) one.close();
    await panel.close();
  });

  test("sees plans, tools and files, sets modes and options, and cancels", async () => {
    const { panel } = await startScripted(daemon);
    writeFileSync(join(daemon.workspace, "a.txt"), "one\ntwo\nthree\n");
    const editor = await openEditor();
    const { sessionId } = await editor.create();
    await expect.poll(() => editor.updates.map(({ sessionUpdate }) => sessionUpdate)).toContain("available_commands_update");
    await editor.prompt(sessionId, "/plan");
    expect(editor.updates.findLast(({ sessionUpdate }) => sessionUpdate === "plan")).toMatchObject({
      entries: [{ status: "completed" }, { status: "completed" }, { content: "Run the tests", status: "in_progress" }],
    });
    await editor.prompt(sessionId, "/edit a.txt");
    const tool = editor.updates.find(({ sessionUpdate }) => sessionUpdate === "tool_call");
    expect(tool).toMatchObject({ title: "Edit", kind: "edit" });
    await editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: "code" });
    const { configOptions } = await editor.agent.request(methods.agent.session.setConfigOption, {
      sessionId,
      configId: "berth_model",
      value: "large",
    });
    expect(configOptions).toMatchObject([{ id: "berth_model", currentValue: "large" }, { id: "effort" }, { id: "web" }]);
    await editor.prompt(sessionId, "now");
    expect(editor.said()).toContain("now (mode code, model large");

    const prompted = editor.prompt(sessionId, "/run sleep 600");
    await expect.poll(() => panel.messages.findLast((message) => message.type === "conversation")?.conversation.busy).toBe(true);
    await expect(editor.prompt(sessionId, "too early")).rejects.toMatchObject({ data: { code: "agent_busy" } });
    await editor.agent.notify(methods.agent.session.cancel, { sessionId });
    expect(await prompted).toEqual({ stopReason: "cancelled" });
    editor.close();
    await panel.close();
  });

  test("leaves its turn running when it disconnects", async () => {
    const { panel } = await startScripted(daemon);
    const editor = await openEditor();
    const { sessionId } = await editor.create();
    editor.prompt(sessionId, "/ask npm test").catch(() => {});
    panel.send({ type: "open", conversationId: sessionId });
    await expect.poll(() => editor.asked.length).toBe(1);
    editor.close();
    const question = await panel.sees("permission");
    panel.send({ type: "answer", conversationId: sessionId, itemId: question.id, optionId: "allow_once" });
    await panel.sees("assistant", ({ text }) => text === "The answer is allow_once.");
    await panel.close();
  });

  test("gets a sentence if it uses what does not exist, or if there is no agent", async () => {
    await startSession(daemon, {});
    const editor = await openEditor();
    await expect(editor.create()).rejects.toMatchObject({ data: { code: "agent_none" } });
    const broken = join(daemon.workspace, "broken-agent");
    writeFileSync(broken, "#!/nowhere/interpreter\n", { mode: 0o755 });
    await startSession(daemon, { agent: { command: broken, args: [], env: {}, requiredEnv: [] } });
    await expect(editor.create()).rejects.toThrow("The agent's command, or its interpreter, was not found");
    await expect(editor.prompt("conv_x", "hi")).rejects.toThrow("Create or load this session first");
    const load = editor.agent.request(methods.agent.session.load, { sessionId: "conv_x", cwd: "/", mcpServers: [] });
    await expect(load).rejects.toMatchObject({ data: { code: "not_found" } });
    editor.close();
  });

  test("that is hostile ends only its own connection", async () => {
    await startScripted(daemon);
    const send = async (...frames: (string | Buffer)[]) => {
      const socket = daemon.connect("/acp");
      await once(socket, "open");
      for (const frame of frames) socket.send(frame);
      return socket;
    };
    for (const frame of ["no json", "[]", "1", "null", Buffer.from("{}"), "x".repeat(2 * 1024 * 1024)]) {
      const socket = await send(frame);
      await once(socket, "close");
    }
    const calls = [
      "initialize",
      "session/new",
      "session/prompt",
      "session/load",
      "session/cancel",
      "session/set_mode",
      "$/cancel_request",
      "nothing",
    ];
    const params = [
      null,
      1,
      [],
      {},
      { sessionId: 1 },
      { sessionId: "__proto__", prompt: [{ type: "text", text: "x" }], cwd: "/", mcpServers: [] },
    ];
    const odd = calls.flatMap((method) => params.map((given, id) => JSON.stringify({ jsonrpc: "2.0", id, method, params: given })));
    const socket = await send(...odd, JSON.stringify({ jsonrpc: "2.0", id: "last", method: "session/list", params: {} }));
    const seen: string[] = [];
    socket.on("message", (data: Buffer) => seen.push(String(data)));
    await expect.poll(() => seen.some((line) => line.includes('"last"'))).toBe(true);
    socket.terminate();

    const greedy = await openEditor();
    const created = await Promise.allSettled(Array.from({ length: 20 }, () => greedy.create()));
    expect(created.filter(({ status }) => status === "fulfilled")).toHaveLength(8);
    greedy.close();
    expect((await daemon.fetch("/health")).status).toBe(200);
    const panel = await openPanel(daemon);
    expect(panel.messages[0]).toMatchObject({ type: "hello", conversations: [] });
    await panel.close();
  });
});
