import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { DaemonActivity } from "@berth/contract/daemon-internal.ts";
import { openPanel } from "../../testing/agent-panel.ts";
import { daemonForRuns } from "../../testing/daemon-for-runs.ts";

const running = daemonForRuns();
const { start, post, get, becomes, call, newRunId, types, clearNews, news } = running;
const activity = async () => (await running.daemon.fetch<DaemonActivity>("/internal/activity")).json.agentIdleMs;

describe("a run", () => {
  test("starts once by its id, is seen in the workspace, and is reported in order", async () => {
    await clearNews();
    const id = newRunId();
    const panel = await openPanel(running.daemon);
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
    writeFileSync(join(running.daemon.workspace, "lines.txt"), "one\ntwo\nthree\n");
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
    const { items } = (await running.daemon.fetch(`/agent/conversations/${conversationId}`)).json;
    expect(items.findLast((item) => item.kind === "user")).toMatchObject({
      context: [{ path: "lines.txt" }, { selection: { fromLine: 2, toLine: 2, text: "two" } }],
    });
  });

  test("says which files it has changed, over several turns", async () => {
    writeFileSync(join(running.daemon.workspace, "changed.txt"), "a\nb\nc\n");
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
    await clearNews();
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
    const { items } = (await running.daemon.fetch(`/agent/conversations/${conversationId}`)).json;
    expect(items.flatMap((item) => (item.kind === "user" ? item.text : []))).toEqual(["/ask npm test", "And then?"]);
  });

  test("goes on without any connection, next to a person's own message, in every browser", async () => {
    const id = await start({ prompt: "/ask one" });
    const { conversationId, waitsFor } = await becomes(id, "needs_input");
    const [first, second] = [await openPanel(running.daemon, conversationId!), await openPanel(running.daemon, conversationId!)];
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
    const panel = await openPanel(running.daemon);
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
    await running.daemon.fetch(`/agent/conversations/${deleted.conversationId}`, { method: "DELETE" });
    expect(await becomes(deleted.id, "interrupted")).toMatchObject({ reason: "person", message: "The conversation was deleted." });

    const dead = await begin("/run kill -9 $PPID; sleep 1");
    expect(await becomes(dead.id, "failed")).toMatchObject({ reason: "error", code: "agent_failed" });

    const left = await begin();
    await running.daemon.fetch("/agent/stop", { method: "POST" });
    expect(await becomes(left.id, "failed")).toMatchObject({ reason: "error", code: "agent_stopped" });
    await panel.close();
  });

  test("ends at its time limit, and says what it waited for", async () => {
    const id = await start({ prompt: "/ask rm -rf x", timeoutMs: 800 });
    const message = "The run has reached its time limit of 1 seconds. It waited for an answer: shell · rm -rf x";
    expect(await becomes(id, "interrupted")).toMatchObject({ reason: "timeout", message, waitsFor: [] });
  });

  test("waits for its conversation, and for others if four work", async () => {
    await clearNews();
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
