import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ReviewDecision } from "@berth/contract/agent.ts";
import { openPanel, type Panel } from "../../daemon/testing/agent-panel.ts";
import { runAgent } from "../../daemon/testing/run-agent.ts";
import { AGENTS, type TestAgent } from "../support/agents/agents.ts";
import { describeWith } from "../support/machine.ts";
import { describeFiles, FILE_KINDS, makeFiles } from "./file-kinds.ts";
import { type WritingTool, writingTools } from "./writing-tools.ts";

const isLong = process.env["BERTH_TEST_AGENTS"] === "all";
const ALL_PATHS = FILE_KINDS.map(({ path }) => path);

// Every writing tool of every agent, called by a scripted model, against files of every kind. Whatever the tool does, the files come
// back byte for byte. One turn changes all files; with BERTH_TEST_AGENTS=all each file also has a turn of its own.
for (const agent of AGENTS) describeWith(agent.missing, `changes of ${agent.name}`, { timeout: 240_000 }, () => testAgent(agent));

function testAgent(agent: TestAgent): void {
  const running = runAgent(agent);
  const { startAgentSession, writeHello, conversation, isBusy, created } = running;

  test("two edits of one file in one answer both happen, and each can be rejected", async () => {
    await startAgentSession();
    const at = join(running.daemon.workspace, "twice.txt");
    const lines = Array.from({ length: 20 }, (_line, index) => `line ${index};`).join("\n");
    writeFileSync(at, lines);
    const edits = [agent.edit(at, "line 2;", "second"), agent.edit(at, "line 15;", "fifteenth")];
    running.model.script = [...(agent.read ? [agent.read(at)] : []), { tools: edits }, { say: "Done." }];
    const { panel, changes } = await runTurn();
    expect(readFileSync(at, "utf8")).toBe(lines.replace("line 2;", "second").replace("line 15;", "fifteenth"));
    const file = changes!.files.find(({ path }) => path === "twice.txt");
    expect([file?.hunks.length, file?.linesAdded, file?.linesRemoved]).toEqual([2, 2, 2]);
    await panel.decide("twice.txt", "rejected", [0]);
    expect(readFileSync(at, "utf8")).toBe(lines.replace("line 15;", "fifteenth"));
    await panel.close();
  });

  // An agent offers models only without the server's relay, which the other tests of agents use. This test is here because another
  // start of the agent would take seconds.
  test("works in the selected mode", async () => {
    await startAgentSession();
    const panel = await openPanel(running.daemon);
    // The agent says what it offers before the first prompt, and others do not see the empty conversation.
    panel.send({ type: "prepare", requestId: "0" });
    const id = await created(panel);
    const offered = () => panel.messages.findLast((each) => each.type === "conversation" && each.conversation.id === id);
    await expect.poll(offered, { timeout: 30_000 }).toMatchObject({
      conversation: {
        commands: expect.arrayContaining([expect.objectContaining({ name: agent.command })]),
        models: { current: expect.stringContaining("scripted") },
      },
    });
    expect(await conversation(id)).toBeUndefined();
    if (agent.otherModel) {
      panel.send({ type: "model", conversationId: id, modelId: agent.otherModel });
      await expect.poll(offered).toMatchObject({ conversation: { models: { current: agent.otherModel } } });
    }
    panel.send({ type: "prompt", requestId: "1", conversationId: id, text: "Hello" });
    await panel.turnEnds();
    const sentModel = running.model.requests.findLast(({ body }) => body.tools)?.body.model;
    expect(sentModel).toBe(agent.otherModel ?? "scripted");
    const modes = async () => (await conversation(id))?.modes;
    const { current, available } = (await modes())!;
    expect(available.map((mode) => mode.id)).toEqual(expect.arrayContaining([current, agent.carefulMode]));
    panel.send({ type: "mode", conversationId: id, modeId: agent.carefulMode });
    await expect.poll(async () => (await modes())?.current).toBe(agent.carefulMode);
    // In this mode the agent asks first, or cannot write at all.
    running.model.script = [writeHello("careful.txt"), { say: "Understood." }];
    panel.send({ type: "prompt", requestId: "2", conversationId: id, text: "Write careful.txt" });
    await expect.poll(() => panel.items().some(({ kind }) => kind === "permission") || !running.model.script.length).toBe(true);
    expect(existsSync(join(running.daemon.workspace, "careful.txt"))).toBe(false);
    panel.send({ type: "cancel", conversationId: id });
    await expect.poll(() => isBusy(id)).toBe(false);
    expect(existsSync(join(running.daemon.workspace, "careful.txt"))).toBe(false);
    await panel.close();
  });

  // These run after the tests above, because some tools need another start of the agent.
  for (const tool of writingTools(agent)) {
    test(`${tool.name} on files of every kind is accepted, rejected, undone and restored byte for byte`, () => review(tool, ALL_PATHS));
    test.for(isLong ? ALL_PATHS : [])(`${tool.name} on %s alone`, (path) => review(tool, [path]));
  }

  async function review(tool: WritingTool, paths: readonly string[]): Promise<void> {
    const { workspace } = running.daemon;
    const outside = mkdtempSync(join(tmpdir(), "berth-outside-"));
    const outsideFile = join(outside, "outside.txt");
    try {
      writeFileSync(outsideFile, "alpha\n");
      makeFiles(workspace);
      await startAgentSession({ extra: tool.env });
      const before = describeFiles(workspace);
      running.model.script = [...tool.script(workspace, paths, outsideFile), { say: "Done." }];
      const { panel, changes } = await runTurn();
      const after = describeFiles(workspace);
      const changed = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((path) => before[path] !== after[path]);
      if (paths === ALL_PATHS) expect(changed).toEqual(expect.arrayContaining([...tool.changes]));
      // A folder is not listed if a file in it is.
      const listed = changes?.files.map(({ path }) => path) ?? [];
      expect(listed.filter((path) => !changed.includes(path))).toEqual([]);
      expect(changed.filter((path) => !listed.some((each) => each === path || each.startsWith(`${path}/`)))).toEqual([]);
      if (tool.name !== "shell" && changes) expect(changes.note).toContain("outside.txt");

      for (const path of listed) await panel.decide(path, "rejected");
      expect(describeFiles(workspace)).toEqual(before);
      for (const path of listed.toReversed()) await panel.decide(path, "undecided");
      expect(describeFiles(workspace)).toEqual(after);
      for (const path of listed) await panel.decide(path, "accepted");
      expect(describeFiles(workspace)).toEqual(after);
      const restored = await panel.restore("user");
      expect(describeFiles(workspace)).toEqual(before);
      await panel.restore("restore", restored);
      expect(describeFiles(workspace)).toEqual(after);
      await panel.close();
    } finally {
      rmSync(outside, { recursive: true });
    }
  }

  // Runs the script in a new conversation, with all permissions.
  async function runTurn() {
    const response = await running.daemon.fetch("/agent/prompt", { method: "POST", body: { text: "Go", permissions: "allow" } });
    const [, id = ""] = /"id":"(conv_[0-9a-f]+)"/.exec(response.text) ?? [];
    const panel = await openPanel(running.daemon, id);
    await panel.sees("user");
    const changes = panel.items().find((item) => item.kind === "changes");
    return { panel: { ...reviewer(panel, id), close: panel.close }, changes };
  }
}

function reviewer(panel: Panel, conversationId: string) {
  const changes = () => panel.items().find((item) => item.kind === "changes")!;
  const refused = () => panel.messages.filter((message) => message.type === "refused");
  return {
    async decide(path: string, decision: ReviewDecision | "undecided", hunks?: number[]): Promise<void> {
      const file = changes().files.find((each) => each.path === path)!;
      const chosen = hunks ?? [...file.hunks.keys()];
      panel.send({ type: "review", conversationId, itemId: changes().id, path, hunks: chosen, decision });
      const decisions = () => {
        const now = changes().files.find((each) => each.path === path)!;
        return chosen.map((index) => now.hunks[index]?.decision ?? "undecided");
      };
      await expect.poll(() => [path, refused(), decisions()]).toEqual([path, [], chosen.map(() => decision)]);
    },
    // Returns the id of the item that says what was restored.
    async restore(kind: "user" | "restore", id?: string): Promise<string> {
      const itemId = id ?? panel.items().find((item) => item.kind === kind)!.id;
      const count = panel.items().length;
      panel.send({ type: "restore", conversationId, itemId });
      await expect.poll(() => [refused(), panel.items().length]).toEqual([[], count + 1]);
      return panel.items().at(-1)!.id;
    },
  };
}
