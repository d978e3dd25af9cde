import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PermissionRule } from "@berth/contract/agent.ts";
import type { DaemonActivity } from "@berth/contract/daemon-internal.ts";
import { type ModelServer, startModelServer } from "../../../tests/support/agents/model-server.ts";
import { openPanel } from "../../testing/agent-panel.ts";
import type { ConversationItem } from "@berth/contract/agent.ts";
import { createFollower, runsOf } from "../../testing/runs.ts";
import { startTestDaemon, type TestDaemon } from "../../testing/test-daemon.ts";

let daemon: TestDaemon;
let model: ModelServer;
const runs = runsOf(() => daemon);
const { start, post, get, becomes, call, news, newRunId, startAgent } = runs;
const relayed = () => ({ OPENAI_BASE_URL: `${model.url}/model/openai/v1` });

beforeAll(async () => {
  daemon = await startTestDaemon();
  model = await startModelServer();
  await startAgent({}, relayed());
});
afterAll(async () => {
  await daemon?.[Symbol.asyncDispose]();
  await model?.[Symbol.asyncDispose]();
});

// The changes of a turn are shown while it goes on, and kept when it ends: a client that has seen them has them earlier in its order.
const changesLast = (items: ConversationItem[]) =>
  [true, false].flatMap((last) => items.filter(({ kind }) => (kind !== "changes") === last));
const types = async (id: string) => (await news(id)).map(({ type, data: { status } }) => `${type} ${status}`);
const activity = async () => (await daemon.fetch<DaemonActivity>("/internal/activity")).json.agentIdleMs;

describe("a run", () => {
  test("starts once by its id, is seen in the workspace, and is reported in order", async () => {
    await runs.clearNews();
    const id = newRunId();
    const panel = await openPanel(daemon);
    const replies = await Promise.all([post(id, { prompt: "Hello" }), post(id, { prompt: "Hello" })]);
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 201]);
    const run = await becomes(id, "succeeded");
    expect(run).toMatchObject({ text: "Hello (mode ask, model small, parts text)", prompt: "Hello", permissions: "ask", reason: null });
    expect((await post(id, { prompt: "Another" })).json).toEqual(run);
    await expect.poll(() => panel.messages.filter(({ type }) => type === "turn")).toHaveLength(1);
    panel.send({ type: "open", conversationId: run.conversationId! });
    await expect.poll(() => panel.items().map(({ kind }) => kind)).toEqual(["user", "assistant"]);
    await panel.close();
    expect(await types(id)).toEqual(["run.started running", "run.finished succeeded"]);
    const revisions = (await news(id)).map(({ data: { revision } }) => revision);
    expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
    expect(new Set(revisions).size).toBe(2);
  });

  test("continues a conversation with files and an image, in a mode and with a model", async () => {
    const { conversationId } = await get(await start({ prompt: "First" }));
    writeFileSync(join(daemon.workspace, "lines.txt"), "one\ntwo\nthree\n");
    const image = Buffer.from("\x89PNG\r\n\x1a\n", "latin1").toString("base64");
    const attachments = [{ path: "lines.txt" }, { path: "lines.txt", fromLine: 2, toLine: 2 }, { image }];
    const id = await start({
      prompt: "Look",
      conversationId: conversationId!,
      attachments,
      mode: "code",
      model: "large",
      permissions: "allow",
    });
    expect(await becomes(id, "succeeded")).toMatchObject({
      conversationId,
      text: "Look (mode code, model large, parts text resource_link resource image)",
    });
    const { items } = (await daemon.fetch(`/agent/conversations/${conversationId}`)).json;
    expect(items.findLast((item) => item.kind === "user")).toMatchObject({
      context: [{ path: "lines.txt" }, { selection: { fromLine: 2, toLine: 2, text: "two" } }],
    });
  });

  test("says which files it has changed, over several turns", async () => {
    writeFileSync(join(daemon.workspace, "changed.txt"), "a\nb\nc\n");
    const id = await start({ prompt: "/edit changed.txt", permissions: "allow" });
    expect(await call(id, "messages", { id: "m1", prompt: "/overwrite new.txt" })).toBe(204);
    expect(await becomes(id, "succeeded")).toMatchObject({
      fileCount: 2,
      files: [
        { path: "changed.txt", kind: "modified", linesAdded: 2, linesRemoved: 2 },
        { path: "new.txt", kind: "added", linesAdded: 1, linesRemoved: 0 },
      ],
    });
  });

  test("waits for an answer over the API, takes messages once by their id, and is no activity while it waits", async () => {
    await runs.clearNews();
    const id = await start({ prompt: "/ask npm test" });
    const waiting = await becomes(id, "needs_input");
    expect(waiting.waitsFor).toMatchObject([{ kind: "permission", title: "shell · npm test", tool: { kind: "shell" } }]);
    await expect.poll(activity).toBeGreaterThan(0);
    expect(await call(id, "messages", { id: "m1", prompt: "And then?" })).toBe(204);
    expect(await call(id, "messages", { id: "m1", prompt: "And then?" })).toBe(204);
    expect((await get(id)).waitingMessages).toBe(1);
    const { itemId } = waiting.waitsFor[0]!;
    expect(await call(id, "answer", { itemId, optionId: "nothing" })).toBe("400 bad_request");
    expect(await call(id, "answer", { itemId: "other", optionId: "allow_once" })).toBe("409 agent_answered");
    expect(await call(id, "answer", { itemId, optionId: "allow_once" })).toBe(204);
    const { text, waitsFor, conversationId } = await becomes(id, "succeeded");
    expect([text, waitsFor]).toEqual(["And then? (mode ask, model small, parts text)", []]);
    expect(await call(id, "answer", { itemId, optionId: "allow_once" })).toBe("409 agent_answered");
    expect(await call(id, "messages", { id: "m1", prompt: "And then?" })).toBe(204);
    expect(await call(id, "messages", { id: "m2", prompt: "More" })).toBe("409 run_ended");
    expect(await types(id)).toEqual([
      "run.started running",
      "run.needs_input needs_input",
      "run.continued running",
      "run.finished succeeded",
    ]);
    const { items } = (await daemon.fetch(`/agent/conversations/${conversationId}`)).json;
    expect(items.flatMap((item) => (item.kind === "user" ? item.text : []))).toEqual(["/ask npm test", "And then?"]);
  });

  test("goes on without any connection, next to a person's own message, in every browser", async () => {
    const id = await start({ prompt: "/ask one" });
    const { conversationId, waitsFor } = await becomes(id, "needs_input");
    const [first, second] = [await openPanel(daemon, conversationId!), await openPanel(daemon, conversationId!)];
    first.send({ type: "queue", requestId: "1", conversationId: conversationId!, text: "Mine" });
    await call(id, "messages", { id: "m", prompt: "/ask two" });
    second.send({ type: "answer", conversationId: conversationId!, itemId: waitsFor[0]!.itemId, optionId: "allow_once" });
    await expect.poll(async () => (await get(id)).waitsFor[0]?.title).toBe("shell · two");
    await expect.poll(() => second.items()).toEqual(first.items());
    const said = first.items().flatMap((item) => (item.kind === "user" ? item.text : []));
    expect(said).toEqual(["/ask one", "Mine", "/ask two"]);
    await first.close();
    await second.close();
    const { itemId } = (await get(id)).waitsFor[0]!;
    await call(id, "answer", { itemId, optionId: "reject_once" });
    expect((await becomes(id, "succeeded")).text).toBe("The answer is reject_once.");
  });

  test("ends when a person stops it, deletes its conversation or stops the agent, and when the agent dies", async () => {
    const panel = await openPanel(daemon);
    const begin = async (prompt = "/run sleep 600") => {
      const id = await start({ prompt, permissions: "allow" });
      await expect.poll(async () => (await get(id)).status).toBe("running");
      return { id, conversationId: (await get(id)).conversationId! };
    };
    const stopped = await begin();
    expect(await activity()).toBe(0);
    panel.send({ type: "cancel", conversationId: stopped.conversationId });
    expect(await becomes(stopped.id, "interrupted")).toMatchObject({ reason: "person", code: null });

    const deleted = await begin();
    await daemon.fetch(`/agent/conversations/${deleted.conversationId}`, { method: "DELETE" });
    expect(await becomes(deleted.id, "interrupted")).toMatchObject({ reason: "person", message: "The conversation was deleted." });

    const dead = await begin("/run kill -9 $PPID; sleep 1");
    expect(await becomes(dead.id, "failed")).toMatchObject({ reason: "error", code: "agent_failed" });

    const left = await begin();
    await daemon.fetch("/agent/stop", { method: "POST" });
    expect(await becomes(left.id, "failed")).toMatchObject({ reason: "error", code: "agent_stopped" });
    await panel.close();
  });

  test("ends at its time limit, and says what it waited for", async () => {
    const id = await start({ prompt: "/ask rm -rf x", timeoutMs: 800 });
    const message = "The run has reached its time limit of 1 seconds. It waited for an answer: shell · rm -rf x";
    expect(await becomes(id, "interrupted")).toMatchObject({ reason: "timeout", message, waitsFor: [] });
  });

  test("waits for its conversation, and for others if four work", async () => {
    await runs.clearNews();
    const ids = await Promise.all(Array.from({ length: 5 }, () => start({ prompt: "/ask x" })));
    for (const id of ids.slice(0, 4)) await becomes(id, "needs_input");
    const { conversationId } = await get(ids[0]!);
    expect(await get(ids[4]!)).toMatchObject({ status: "queued", conversationId: null, startedAt: null });
    const sixth = await start({ prompt: "Sixth", conversationId: conversationId! });
    await call(ids[1]!, "interrupt");
    expect(await becomes(ids[1]!, "interrupted")).toMatchObject({ reason: "requested" });
    await becomes(ids[4]!, "needs_input");
    await call(ids[2]!, "interrupt");
    await becomes(ids[2]!, "interrupted");
    expect((await get(sixth)).status).toBe("queued");
    const seventh = await start({ prompt: "Seventh", conversationId: conversationId! });
    await call(seventh, "interrupt");
    expect(await get(seventh)).toMatchObject({ status: "interrupted", startedAt: null });
    expect(await types(seventh)).toEqual(["run.finished interrupted"]);
    await call(ids[0]!, "interrupt");
    await becomes(sixth, "succeeded");
    for (const id of [ids[3]!, ids[4]!]) await call(id, "interrupt");
    for (const id of [ids[3]!, ids[4]!]) await becomes(id, "interrupted");
  });
});

describe("permissions of a run", () => {
  const rules: PermissionRule[] = [
    { tool: "shell", command: "npm test*", allow: true },
    { tool: "shell", command: "rm*", allow: false },
  ];

  test("are answered by its rules, then by those of the template, and the rest asks", async () => {
    await startAgent({ permissions: [{ tool: "shell", command: "ls*", allow: true }], askingModes: ["code"] }, relayed());
    const answerTo = async (command: string) => {
      const id = await start({ prompt: `/ask ${command}`, permissions: rules });
      await expect.poll(async () => (await get(id)).status).toMatch(/needs_input|succeeded/);
      const { status, text, conversationId } = await get(id);
      if (status === "needs_input") await call(id, "interrupt");
      if (status === "needs_input") await becomes(id, "interrupted");
      return status === "needs_input" ? { text: "asks", conversationId } : { text, conversationId };
    };
    // Every new conversation begins in the mode in which the agent asks.
    const panel = await openPanel(daemon);
    panel.send({ type: "prompt", requestId: "1", text: "Hi" });
    await expect
      .poll(() => panel.items().flatMap((item) => (item.kind === "assistant" ? item.text : [])))
      .toEqual(["Hi (mode code, model small, parts text)"]);
    await panel.close();
    await startAgent({ permissions: [{ tool: "shell", command: "ls*", allow: true }] }, relayed());
    expect((await answerTo("npm test -- --run")).text).toBe("The answer is allow_once.");
    expect((await answerTo("rm -rf ~")).text).toBe("The answer is reject_once.");
    expect((await answerTo("ls -l")).text).toBe("The answer is allow_once.");
    expect((await answerTo("npm test; rm -rf ~")).text).toBe("asks");
    const { conversationId, text } = await answerTo("npm test $(x)");
    expect(text).toBe("asks");
    const { json } = await daemon.fetch<{ conversation: { rules: PermissionRule[] } }>(`/agent/conversations/${conversationId}`);
    // After the run, those of the template are left.
    expect(json.conversation.rules).toEqual([{ tool: "shell", command: "ls*", allow: true }]);
    await startAgent({}, relayed());
  });

  test("are refused if the agent would not ask, and end the run if it leaves the mode in which it asks", async () => {
    expect((await post(newRunId(), { prompt: "Hi", mode: "code" })).json).toMatchObject({ code: "run_never_asks" });
    expect((await post(newRunId(), { prompt: "Hi", permissions: [{ tool: "edit", command: "x", allow: true }] })).status).toBe(400);
    expect((await post(newRunId(), { prompt: "Hi", permissions: "yes" })).status).toBe(400);
    expect((await post(newRunId(), { prompt: "Hi", conversationId: "conv_0000000000000000" })).status).toBe(404);
    const id = await start({ prompt: "/ask x" });
    const { conversationId } = await becomes(id, "needs_input");
    const panel = await openPanel(daemon);
    panel.send({ type: "mode", conversationId: conversationId!, modeId: "code" });
    expect(await becomes(id, "failed")).toMatchObject({ code: "run_never_asks", reason: "error" });
    await panel.close();
    await startAgent({ askingModes: undefined }, relayed());
    expect(await becomes(await start({ prompt: "Hi" }), "failed")).toMatchObject({ code: "run_never_asks" });
    await becomes(await start({ prompt: "Hi", mode: "ask" }), "succeeded");
    await becomes(await start({ prompt: "Hi", permissions: "allow" }), "succeeded");
    await startAgent({ askingModes: ["careful"] }, relayed());
    expect(await becomes(await start({ prompt: "Hi" }), "failed")).toMatchObject({ code: "run_never_asks" });
    await startAgent({}, relayed());
  });
});

describe("the limits of a run", () => {
  test("end it at the next request to the model, and count what it has used", async () => {
    model.script = [];
    const used = await becomes(await start({ prompt: "/model /chat/completions", maxTurns: 1, maxTokens: 1_000_000 }), "succeeded");
    // The title and the answer.
    expect(used).toMatchObject({ turns: 1, tokens: { input: 240, output: 60 } });
    const prompt = "/model /chat/completions";
    for (const [limits, reason] of [
      [{ maxTurns: 1 }, "max_turns"],
      [{ maxTokens: 300 }, "max_tokens"],
    ] as const) {
      const before = model.requests.length;
      const id = await start({ prompt, ...limits });
      await call(id, "messages", { id: "m", prompt });
      const run = await becomes(id, "interrupted");
      expect(run).toMatchObject({ reason, turns: 1, message: expect.stringContaining("has reached its limit of") });
      expect(model.requests.length - before).toBe(2);
    }
  });

  test("are refused if the agent does not use the model of the server", async () => {
    await startAgent({}, { OPENAI_BASE_URL: `${model.url}/v1` });
    for (const limits of [{ maxTurns: 3 }, { maxTokens: 3 }]) {
      const refused = await post(newRunId(), { prompt: "Hi", ...limits });
      expect([refused.status, refused.json.code]).toEqual([409, "run_limits_unsupported"]);
    }
    // The settings name the relay, but the agent does not use it.
    await startAgent({}, { ...relayed(), OTHER: "x" });
    writeFileSync(join(daemon.workspace, "other.txt"), "a\n");
    const id = await start({ prompt: "/edit other.txt", maxTurns: 5, permissions: "allow" });
    expect(await becomes(id, "failed")).toMatchObject({ code: "run_limits_unsupported" });
    await startAgent({}, relayed());
  });
});

describe("the events of a run", () => {
  test("continue after any cut without loss or repetition", async () => {
    for (let round = 0; round < 3; round++) {
      model.script = [];
      writeFileSync(join(daemon.workspace, "cut.txt"), "a\nb\n");
      const id = await start({ prompt: "/edit cut.txt", permissions: "allow" });
      for (const prompt of ["/plan it", "/ask x", "Grüße 🦀", "/edit cut.txt", "Last"]) await call(id, "messages", { id: prompt, prompt });
      const [steady, cut] = [createFollower(daemon, id), createFollower(daemon, id)];
      const followed = steady.read();
      let cuts = 0;
      // All items together may be longer than the first pieces.
      for (; cut.ended === null && cuts < 2000; cuts++) await cut.read(1 + Math.floor(Math.random() * (1500 + 100 * cuts)));
      await followed;
      expect(cuts).toBeGreaterThan(5);
      const { items } = (await daemon.fetch<{ items: ConversationItem[] }>(`/agent/conversations/${steady.ended?.conversationId}`)).json;
      expect(changesLast(steady.items())).toEqual(changesLast(items));
      expect(changesLast(cut.items())).toEqual(changesLast(items));
      // It has all items from the start once, and then each change.
      expect(steady.seen.filter((type) => type === "items")).toHaveLength(1);
      expect([steady.seen.at(-1), cut.ended?.status]).toEqual(["end", "succeeded"]);
      expect(await cut.read()).toBe(204);
    }
  });

  test("begin again with all items if the daemon has restarted", async () => {
    const id = await start({ prompt: "Remember" });
    await becomes(id, "succeeded");
    const follower = createFollower(daemon, id);
    await follower.read(40);
    await daemon.stop("SIGKILL");
    await daemon.restart();
    await startAgent({}, relayed());
    await follower.read();
    expect(follower.seen).toEqual(["items", "end"]);
    expect(follower.items().map(({ kind }) => kind)).toEqual(["user", "assistant"]);
    expect(await follower.read()).toBe(204);
  });
});

describe("a run and the end of the sandbox", () => {
  test("is lost if it had begun, begins if it had not, and says so once", async () => {
    for (const end of ["kill", "stop"]) {
      await runs.clearNews();
      const begun = await start({ prompt: `/run touch begun-${end}; sleep 600`, permissions: "allow" });
      await expect.poll(() => existsSync(join(daemon.workspace, `begun-${end}`))).toBe(true);
      const { conversationId } = await get(begun);
      const queued = await start({ prompt: "Later", conversationId: conversationId! });
      await call(queued, "messages", { id: "m", prompt: "Even later" });
      if (end === "stop") await daemon.fetch("/internal/stop", { method: "POST" });
      await daemon.stop(end === "kill" ? "SIGKILL" : "SIGTERM");
      await daemon.restart();
      expect((await startAgent({}, relayed())).hasNews).toBe(true);
      expect(await get(begun)).toMatchObject({ status: "lost", conversationId });
      expect(await types(begun)).toEqual(["run.started running", "run.finished lost"]);
      expect(await call(begun, "interrupt")).toBe(204);
      expect(await call(begun, "messages", { id: "x", prompt: "x" })).toBe("409 run_ended");
      expect((await becomes(queued, "succeeded")).text).toContain("Even later");
      await daemon.stop("SIGKILL");
      await daemon.restart();
      await startAgent({}, relayed());
      expect(await types(begun)).toEqual(["run.started running", "run.finished lost"]);
      expect((await post(begun, { prompt: "Again" })).status).toBe(200);
    }
  });

  test("goes on over a pause, in which no run is accepted", async () => {
    const id = await start({ prompt: "/ask x" });
    const { waitsFor } = await becomes(id, "needs_input");
    await daemon.fetch("/internal/pause", { method: "POST" });
    expect((await post(newRunId(), { prompt: "Hi" })).json.code).toBe("session_paused");
    await startAgent({}, relayed());
    await call(id, "answer", { itemId: waitsFor[0]!.itemId, optionId: "allow_once" });
    await becomes(id, "succeeded");
  });
});
