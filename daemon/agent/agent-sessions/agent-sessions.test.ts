import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { agentBecomes, openPanel } from "../../testing/agent-panel.ts";
import { startScripted } from "../../testing/scripted-agent.ts";
import { startTestDaemon, type TestDaemon } from "../../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeEach(async () => void (daemon = await startTestDaemon()));
afterEach(() => daemon[Symbol.asyncDispose]());

const calls = (name: string) =>
  readFileSync(join(daemon.home, "scripted-calls"), "utf8")
    .split("\n")
    .filter((line) => line.startsWith(name));

describe("the agent's sessions", () => {
  test.each([
    { offers: ["resume", "load"], reopened: "session/resume" },
    { offers: ["load"], reopened: "session/load" },
  ])("after a restart, a conversation goes on with $reopened and with what a person had chosen", async ({ offers, reopened }) => {
    const { panel, prompt, said, head, conversationId } = await startScripted(daemon, ...offers);
    await prompt("/options");
    await said("Effort low, web false");
    expect(head().options).toEqual([
      {
        id: "effort",
        name: "Effort",
        type: "choice",
        current: "low",
        available: [
          { id: "low", name: "low" },
          { id: "high", name: "high" },
        ],
      },
      { id: "web", name: "Search the web", description: "Also for news", type: "boolean", current: false },
    ]);
    const id = conversationId();
    panel.send({ type: "option", conversationId: id, optionId: "effort", value: "medium" });
    panel.send({ type: "option", conversationId: id, optionId: "effort", value: "high" });
    panel.send({ type: "option", conversationId: id, optionId: "web", value: true });
    panel.send({ type: "mode", conversationId: id, modeId: "code" });
    await expect.poll(() => head()).toMatchObject({ modes: { current: "code" }, options: [{ current: "high" }, { current: true }] });
    expect(panel.messages.filter(({ type }) => type === "refused")).toHaveLength(1);
    await prompt("/options");
    await said("Effort high, web true");
    await panel.turnEnds();

    await daemon.fetch("/agent/stop", { method: "POST" });
    panel.send({ type: "prompt", requestId: "x", conversationId: id, text: "Again" });
    await said("Again (mode code, model small, parts text)");
    expect(calls("session/")).toContain(`${reopened} session-1`);
    expect(calls("session/new")).toHaveLength(1);
    expect(panel.items().filter(({ kind }) => kind === "user")).toHaveLength(3);
    // A change by the agent itself is shown.
    await prompt(
      `/send { method: "session/update", params: { sessionId, update: { sessionUpdate: "config_option_update", configOptions: [{ id: "web", name: "Web", type: "boolean", currentValue: false }] } } }`,
    );
    await expect.poll(() => head().options).toEqual([{ id: "web", name: "Web", type: "boolean", current: false }]);
    await panel.close();
  });

  test("a session that someone has started elsewhere is found and opened, and those of deleted conversations are not", async () => {
    const first = await startScripted(daemon, "load", "list", "close");
    await first.prompt("Ours");
    await first.said("Ours (mode ask, model small, parts text)");
    first.panel.send({ type: "delete", conversationId: first.conversationId() });
    await expect.poll(() => calls("session/close")).toEqual(["session/close session-1"]);
    await daemon.fetch("/agent/stop", { method: "POST" });
    const file = join(daemon.home, "scripted-sessions.json");
    const saved = JSON.parse(readFileSync(file, "utf8")) as [string, object][];
    writeFileSync(file, JSON.stringify([...saved, ["theirs", { ...saved[0]![1], said: ["Theirs\u0007", "More"] }]]));
    await daemon.fetch("/agent/start", { method: "POST" });
    await agentBecomes(daemon, "ready");

    const panel = await openPanel(daemon);
    panel.send({ type: "sessions", requestId: "1" });
    const found = () => panel.messages.findLast((message) => message.type === "sessions")?.sessions;
    const theirs = { sessionId: "theirs", title: "Theirs", updatedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5) };
    await expect.poll(found).toEqual([theirs]);
    panel.send({ type: "adopt", requestId: "2", sessionId: "session-1" });
    await expect.poll(() => panel.messages.findLast(({ type }) => type === "refused")).toMatchObject({ requestId: "2", code: "not_found" });
    panel.send({ type: "adopt", requestId: "3", sessionId: "theirs" });
    await panel.sees("assistant", ({ text }) => text === "More, repeated");
    const texts = () => panel.items().map((item) => ("text" in item ? item.text : item.kind));
    expect(texts()).toEqual(["Theirs\u0007", "Theirs\u0007, repeated", "More", "More, repeated"]);
    panel.send({ type: "sessions", requestId: "4" });
    await expect.poll(found).toEqual([]);
    const [listed] = (await daemon.fetch("/agent/conversations")).json.conversations;
    panel.send({ type: "prompt", requestId: "5", conversationId: listed!.id, text: "Go on" });
    await panel.sees("assistant", ({ text }) => text === "Go on (mode ask, model small, parts text)");
    await panel.turnEnds();
    // The agent cannot delete it, and it does not come back.
    panel.send({ type: "delete", conversationId: listed!.id });
    await expect.poll(() => panel.messages.filter(({ type }) => type === "deleted")).toHaveLength(1);
    panel.send({ type: "sessions", requestId: "6" });
    const last = () => panel.messages.findLast((message) => message.type === "sessions");
    await expect.poll(last).toEqual({ type: "sessions", requestId: "6", sessions: [] });
    await Promise.all([panel.close(), first.panel.close()]);
  });

  test("a deleted conversation is deleted in the agent, and only the sessions of the last conversations stay open", async () => {
    const { panel, conversationId, said } = await startScripted(daemon, "resume", "close", "delete");
    for (let count = 1; count <= 9; count++) {
      panel.send({ type: "prompt", requestId: String(count), text: `Number ${count}` });
      await panel.turnEnds();
    }
    await expect.poll(() => calls("session/close")).toEqual(["session/close session-1"]);
    panel.send({ type: "delete", conversationId: conversationId() });
    await expect.poll(() => calls("session/delete")).toEqual(["session/delete session-9"]);
    const oldest = (await daemon.fetch("/agent/conversations")).json.conversations.at(-1)!;
    panel.send({ type: "open", conversationId: oldest.id });
    panel.send({ type: "prompt", requestId: "last", conversationId: oldest.id, text: "Again" });
    await said("Again (mode ask, model small, parts text)");
    expect(calls("session/resume")).toEqual(["session/resume session-1"]);
    await panel.close();
  });

  test("notices and compactions are small lines, and updates of another kind or session change nothing", async () => {
    const { panel, prompt, said } = await startScripted(daemon);
    const updates = [
      `{ sessionUpdate: "notice", severity: "warning", title: "Nearly\\u202e full\\n", description: "Soon" }`,
      `{ sessionUpdate: "notice", severity: "_odd", title: "x".repeat(1e7) }`,
      `{ sessionUpdate: "compaction_update", compactionId: "c", status: "in_progress" }`,
      `{ sessionUpdate: "compaction_summary_chunk", compactionId: "c", content: { type: "text", text: "We talked." } }`,
      `{ sessionUpdate: "compaction_update", compactionId: "c", status: "completed" }`,
      `{ sessionUpdate: "compaction_update", compactionId: "d", status: "failed", error: "No room" }`,
      `{ sessionUpdate: "hologram", depth: 3 }`,
    ];
    for (const update of updates) await prompt(`/send { method: "session/update", params: { sessionId, update: ${update} } }`);
    await prompt(`/send { method: "session/update", params: { sessionId: "nowhere", update: ${updates[0]} } }`);
    await prompt(`/send { method: "session/update", params: "?" }`);
    await prompt("Still there?");
    await said("Still there? (mode ask, model small, parts text)");
    const notices = panel.items().flatMap((item) => (item.kind === "notice" ? [item] : []));
    expect(notices.map(({ level, text, detail }) => ({ level, text: text.slice(0, 60), detail }))).toEqual([
      { level: "warning", text: "Nearly full", detail: "Soon" },
      { level: "info", text: "x".repeat(60), detail: undefined },
      { level: "info", text: "The agent has summarised the conversation so far, to make ro", detail: "We talked." },
      { level: "warning", text: "The agent could not summarise the conversation so far.", detail: "No room" },
    ]);
    await panel.close();
  });
});
