import { client, methods, PROTOCOL_VERSION, type SessionUpdate } from "@agentclientprotocol/sdk";
import { createWebSocketStream, type WebSocketConstructor } from "@agentclientprotocol/sdk/experimental/ws-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CreatedSession, EventList, Run, RunStarted } from "@berth/contract";
import { WebSocket } from "ws";
import { modelSettings, preferredAgent as agent, serverSettings } from "../support/agents/agents.ts";
import { startModelServer, type ModelServer } from "../support/agents/model-server.ts";
import { describeWith } from "../support/machine.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";

// One session with one agent, because some agents take seconds to start.
describeWith(agent.missing, "runs of a session", () => {
  const resources = new AsyncDisposableStack();
  let model: ModelServer;
  let berth: Berth;
  let session: CreatedSession;

  beforeAll(async () => {
    model = resources.use(await startModelServer());
    berth = resources.use(await startBerth({ ...(await serverSettings(agent, resources)), ...modelSettings(model) }));
    model.script = [agent.write("/workspace/hello.txt", "hello\n"), { say: "I wrote it." }];
    const run = { prompt: "Write a file" };
    session = (await berth.api.create({ autoStartAgent: false, autoResume: true, run })) as CreatedSession;
  });
  afterAll(() => resources.disposeAsync());

  const call = (method: string, runId: string, path = "", body?: object) =>
    berth.api.call(method, `/api/b2b/sessions/${session.sessionId}/runs/${runId}${path}`, body);
  const get = async (runId: string) => (await call("GET", runId)).body as Run;
  // A run that has ended does not change any more, so that waiting for something else is of no use.
  const becomes = async (runId: string, status: Run["status"]) => {
    const isOver = async () => ((run) => run.status === status || run.endedAt !== null)(await get(runId));
    await expect.poll(isOver, { timeout: 60_000 }).toBe(true);
    expect(await get(runId)).toMatchObject({ status });
  };
  const start = async (body: object) =>
    ((await berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/runs`, body)).body as RunStarted).runId;
  const eventsOf = async (runId: string) => {
    const { data } = (await berth.api.call("GET", "/api/b2b/events?limit=100")).body as EventList;
    const reported = data.map((event) => ({ type: event.type, ...(event.data as { runId?: string; runStatus?: string }) }));
    return reported.filter((event) => event.runId === runId).map(({ type, runStatus }) => `${type} ${runStatus}`);
  };
  const follow = async (runId: string) =>
    ((await call("GET", runId, "/events")).body as string)
      .split("\n")
      .filter((line) => line.startsWith("data: "))
      .map((line) => JSON.parse(line.slice("data: ".length)) as { type: string; run?: Run });

  test("a run that came with its session outlives a killed server and gets its permission over the API", async () => {
    const { runId } = session.run!;
    await becomes(runId, "needs_input");
    await berth.kill();
    await berth.start();
    const { waitsFor } = await get(runId);
    expect(waitsFor).toMatchObject([{ kind: "permission", tool: { kind: "edit" } }]);
    expect(await berth.api.readFile(session.sandboxId, "hello.txt")).toBeNull();
    const following = follow(runId);
    const [{ itemId, options }] = waitsFor as [Extract<Run["waitsFor"][number], { kind: "permission" }>];
    const optionId = options.find(({ kind }) => kind === "allow_once")!.id;
    expect((await call("POST", runId, "/answer", { itemId, optionId })).status).toBe(204);
    const events = await following;
    expect([events[0]!.type, events.at(-1)]).toMatchObject(["items", { type: "end", run: { runId, status: "succeeded" } }]);
    expect(String(await berth.api.readFile(session.sandboxId, "hello.txt"))).toBe("hello\n");
    await expect.poll(() => eventsOf(runId)).toEqual(["run.started running", "run.needs_input needs_input", "run.finished succeeded"]);
    expect(await get(runId)).toMatchObject({ status: "succeeded", text: "I wrote it.", files: [{ path: "hello.txt", kind: "added" }] });
    expect((await get(runId)).tokens!.input).toBeGreaterThan(0);
  });

  test("a run goes on after a pause, its message follows, and its server may die meanwhile", async () => {
    model.script = [agent.shell("while [ ! -e go ]; do sleep 0.1; done; echo gone"), { say: "First." }, { say: "Second." }];
    const runId = await start({ prompt: "Wait", permissions: "allow" });
    await becomes(runId, "running");
    await expect.poll(async () => (await berth.api.exec(session.sandboxId, "cat /proc/[0-9]*/cmdline")).stdout).toContain("-e go");
    expect((await call("POST", runId, "/messages", { prompt: "And then?" })).status).toBe(202);
    expect((await berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`)).status).toBe(200);
    expect(await get(runId)).toMatchObject({ status: "running" });
    expect((await call("GET", runId, "/events")).headers.get("x-error-code")).toBe("session_paused");
    await berth.kill();
    await berth.start();
    await berth.api.writeFile(session.sandboxId, "go", "");
    await becomes(runId, "succeeded");
    expect(await get(runId)).toMatchObject({ text: "Second.", turns: 3 });
    expect(await eventsOf(runId)).toEqual(["run.started running", "run.finished succeeded"]);
  });

  test("an editor with a session token drives the same agent over the Agent Client Protocol, and answers its question", async () => {
    model.script = [agent.write("/workspace/desk.txt", "desk\n"), { say: "From the desk." }];
    const path = `/api/b2b/sessions/${session.sessionId}/tokens`;
    const { token } = (await berth.api.call("POST", path, { scopes: ["agent"], ttlMs: 600_000 })).body as { token: string };
    const stream = createWebSocketStream(`${berth.url.replace("http", "ws")}/sandboxes/${session.sandboxId}/acp`, {
      WebSocket: WebSocket as unknown as WebSocketConstructor,
      headers: { authorization: `Bearer ${token}` },
      cookies: "omit",
    });
    const updates: SessionUpdate[] = [];
    let questions = 0;
    const editor = client({ name: "editor" })
      .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
      .onRequest(methods.client.session.requestPermission, ({ params }) => {
        questions++;
        return { outcome: { outcome: "selected", optionId: params.options.find(({ kind }) => kind === "allow_once")!.optionId } };
      })
      .connect(stream);
    await editor.agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
    const { sessionId, modes } = await editor.agent.request(methods.agent.session.new, { cwd: "/home/ada", mcpServers: [] });
    const modeId = modes!.availableModes.find(({ id }) => /ask|approve/.test(id))!.id;
    await editor.agent.request(methods.agent.session.setMode, { sessionId, modeId });
    const prompt = [{ type: "text" as const, text: "Write it" }];
    expect(await editor.agent.request(methods.agent.session.prompt, { sessionId, prompt })).toEqual({ stopReason: "end_turn" });
    const chunks = updates.flatMap((update) => (update.sessionUpdate === "agent_message_chunk" ? [update.content] : []));
    expect(chunks.map((content) => (content.type === "text" ? content.text : "")).join("")).toBe("From the desk.");
    expect(questions).toBe(1);
    expect(updates.map(({ sessionUpdate }) => sessionUpdate)).toContain("tool_call");
    expect(String(await berth.api.readFile(session.sandboxId, "desk.txt"))).toBe("desk\n");
    // The conversations of the runs before are there too.
    expect((await editor.agent.request(methods.agent.session.list, {})).sessions.length).toBeGreaterThan(2);
    editor.close();
  });

  test("a run is interrupted, and one that works when its session is destroyed ends with it", async () => {
    model.script = [{ hang: true }, { hang: true }];
    const [first, second] = [await start({ prompt: "One", permissions: "allow" }), await start({ prompt: "Two", permissions: "allow" })];
    for (const runId of [first, second]) await becomes(runId, "running");
    expect((await call("POST", first, "/interrupt")).status).toBe(204);
    await becomes(first, "interrupted");
    expect((await berth.api.call("DELETE", `/api/b2b/sessions/${session.sessionId}`)).status).toBe(200);
    expect(await get(first)).toMatchObject({ reason: "requested" });
    expect(await get(second)).toMatchObject({ status: "interrupted", reason: "session_ended" });
    for (const runId of [first, second]) expect(await eventsOf(runId)).toEqual(["run.started running", "run.finished interrupted"]);
    expect((await follow(second)).map(({ type }) => type)).toEqual(["end"]);
  });
});
