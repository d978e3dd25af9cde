import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { readScriptedAgent } from "../../tests/support/agents/scripted-agent.ts";
import { openPanel, startSession } from "./agent-panel.ts";
import type { TestDaemon } from "./test-daemon.ts";

// A session with the scripted agent, and a panel whose prompts belong to one conversation.
export async function startScripted(daemon: TestDaemon, ...args: string[]) {
  writeFileSync(join(daemon.workspace, "agent.mjs"), await readScriptedAgent());
  await startSession(daemon, { agent: { command: process.execPath, args: ["agent.mjs", ...args], env: {}, requiredEnv: [] } });
  const panel = await openPanel(daemon);
  const created = () => panel.messages.findLast((message) => message.type === "created")?.conversation.id;
  let prompts = 0;
  return {
    panel,
    conversationId: () => created() ?? "",
    head: () => panel.messages.findLast((message) => message.type === "conversation")!.conversation,
    said: (text: string) => panel.sees("assistant", (item) => item.text === text),
    // Sends a prompt after the end of the last one, to the same conversation.
    async prompt(text: string): Promise<void> {
      if (prompts++ > 0) await panel.turnEnds();
      const conversationId = created();
      panel.send({ type: "prompt", requestId: String(prompts), text, ...(conversationId === undefined ? {} : { conversationId }) });
      await expect.poll(created).toBeDefined();
    },
  };
}
