import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ChangesItem, ReviewDecision } from "@berth/contract/agent.ts";
import { openPanel, type Panel, startSession } from "../../testing/agent-panel.ts";
import { startTestDaemon, type TestDaemon } from "../../testing/test-daemon.ts";
import { readScriptedAgent } from "../../../tests/support/agents/scripted-agent.ts";

const LINES = Array.from({ length: 20 }, (_line, index) => `line ${index}\n`).join("");

describe("the changes of a turn", () => {
  let daemon: TestDaemon;
  let panel: Panel;
  let conversationId: string;
  const at = (path: string) => join(daemon.workspace, path);
  const read = (path: string) => (existsSync(at(path)) ? readFileSync(at(path), "utf8") : null);
  const refusals = () => panel.messages.flatMap((message) => (message.type === "refused" ? [`${message.code}: ${message.message}`] : []));

  beforeAll(async () => {
    daemon = await startTestDaemon();
    mkdirSync(daemon.home, { recursive: true });
    const program = join(daemon.home, "agent.mjs");
    writeFileSync(program, await readScriptedAgent());
    await startSession(daemon, { agent: { command: process.execPath, args: [program], env: {}, requiredEnv: [] } });
  });
  afterAll(() => daemon[Symbol.asyncDispose]());
  beforeEach(async () => {
    panel = await openPanel(daemon);
    return () => panel.close();
  });

  // Returns the item of its changes.
  async function turn(text: string): Promise<ChangesItem & { id: string }> {
    panel.send({ type: "prompt", requestId: text, text });
    await panel.turnEnds();
    conversationId = panel.messages.findLast((message) => message.type === "created")!.conversation.id;
    return await panel.sees("changes", (item) => item.after !== null);
  }

  async function decide(item: { id: string }, path: string, decision: ReviewDecision | "undecided", hunks?: number[]): Promise<void> {
    const seen = panel.messages.length;
    panel.send({ type: "review", conversationId, itemId: item.id, path, ...(hunks ? { hunks } : {}), decision });
    await expect.poll(() => panel.messages.slice(seen).some(({ type }) => type === "item" || type === "refused")).toBe(true);
  }

  test("come from the files: a write that the agent reports as a new file is a change of the old one, and Reject brings it back", async () => {
    writeFileSync(at("mine.txt"), "my work\n", { mode: 0o640 });
    const item = await turn("/overwrite mine.txt");
    const lines = [
      { kind: "removed", text: "my work" },
      { kind: "added", text: "all new" },
    ];
    expect(item.files).toEqual([{ path: "mine.txt", kind: "modified", linesAdded: 1, linesRemoved: 1, hunks: [{ lines }] }]);
    await decide(item, "mine.txt", "rejected");
    expect([read("mine.txt"), statSync(at("mine.txt")).mode & 0o777, refusals()]).toEqual(["my work\n", 0o640, []]);
    await decide(item, "mine.txt", "undecided", [0]);
    expect(read("mine.txt")).toBe("all new\n");
  });

  test("that were changed again: hunks that still apply are rejected, and later work is never overwritten", async () => {
    writeFileSync(at("numbers.txt"), LINES);
    writeFileSync(at("old.bin"), Buffer.from([0, 1]));
    const item = await turn("/run sed -i 's/line 3$/three/; s/line 15$/fifteen/' numbers.txt && echo x >> old.bin && echo made > new.txt");
    expect(item.files.map(({ path, hunks }) => `${path} ${hunks.length}`)).toEqual(["new.txt 1", "numbers.txt 2", "old.bin 1"]);
    writeFileSync(at("numbers.txt"), read("numbers.txt")!.replace("three", "three, by me").replace("line 9\n", ""));
    writeFileSync(at("old.bin"), Buffer.from([0, 2]));
    writeFileSync(at("new.txt"), "made, and more\n");
    await decide(item, "numbers.txt", "rejected");
    expect(refusals()[0]).toContain("This part of the file has changed since the turn. Nothing was changed");
    await decide(item, "numbers.txt", "rejected", [1]);
    expect(read("numbers.txt")).toBe(LINES.replace("line 3\n", "three, by me\n").replace("line 9\n", ""));
    for (const path of ["old.bin", "new.txt"]) await decide(item, path, "rejected");
    expect(refusals()).toHaveLength(3);
    expect([read("old.bin"), read("new.txt")]).toEqual(["\0\u0002", "made, and more\n"]);
    // A file that is already as it was needs no change.
    writeFileSync(at("old.bin"), Buffer.from([0, 1]));
    rmSync(at("new.txt"));
    for (const path of ["old.bin", "new.txt"]) await decide(item, path, "rejected");
    expect(refusals()).toHaveLength(3);
  });

  test("include deleted and moved files, folders and permissions, and Reject brings them back with their folders", async () => {
    mkdirSync(at("deep/er"), { recursive: true, mode: 0o750 });
    chmodSync(at("deep/er"), 0o700);
    writeFileSync(at("deep/er/a.txt"), "a");
    const item = await turn("/run mv deep/er/a.txt b.txt && rm -r deep && mkdir -p one/two && touch one/two/c");
    expect(item.files.map(({ path, kind }) => `${kind} ${path}`)).toEqual(["added b.txt", "deleted deep/er/a.txt", "added one/two/c"]);
    for (const { path } of item.files) await decide(item, path, "rejected");
    expect([read("deep/er/a.txt"), statSync(at("deep/er")).mode & 0o777, existsSync(at("one"))]).toEqual(["a", 0o700, false]);
    expect(refusals()).toEqual([]);
  });

  test("that someone saved meanwhile are marked, and nothing is rejected while a turn runs, in whatever conversation", async () => {
    writeFileSync(at("saved.txt"), "before\n");
    const first = await turn("/run echo one > first.txt");
    const own = conversationId;
    const other = await openPanel(daemon);
    other.send({ type: "prompt", requestId: "1", text: "/run echo two > second.txt; while [ ! -e release ]; do sleep 0.02; done" });
    await expect.poll(() => read("second.txt")).toBe("two\n");
    await decide(first, "first.txt", "rejected");
    expect(refusals()[0]).toBe("agent_busy: The agent is still working. Stop it first");
    await decide(first, "first.txt", "accepted");
    expect(refusals()).toHaveLength(1);
    await daemon.fetch("/files/content?path=saved.txt", { method: "PUT", body: "mine\n" });
    panel.send({ type: "prompt", requestId: "2", conversationId: own, text: "/run echo three > third.txt" });
    await panel.turnEnds();
    const shared = await panel.sees("changes", (item) => item.id !== first.id);
    expect(shared.note).toContain("Another conversation worked at the same time");
    writeFileSync(at("release"), "");
    await other.turnEnds();
    const { files } = await other.sees("changes", (item) => item.after !== null);
    expect(files.map(({ path, saved }) => `${path} ${saved ?? false}`)).toEqual([
      "release false",
      "saved.txt true",
      "second.txt false",
      "third.txt false",
    ]);
    await other.close();
  });

  test("outside what checkpoints cover are named, and files that are too large are listed without a way back", async () => {
    mkdirSync(at("node_modules"), { recursive: true });
    writeFileSync(at("node_modules/x.txt"), "x\n");
    const item = await turn("/overwrite node_modules/x.txt");
    expect([item.files, item.note]).toEqual([
      [],
      "Not compared, because they are outside the workspace, ignored by Git or generated: node_modules/x.txt.",
    ]);
    writeFileSync(at("huge"), Buffer.alloc(5 * 1024 * 1024));
    const next = await turn("/run echo x >> huge");
    expect(next.files).toEqual([{ path: "huge", kind: "modified", note: "Too large to compare and to bring back.", hunks: [] }]);
  });
});
