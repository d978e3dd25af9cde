import { once } from "node:events";
import { expect } from "vitest";
import type { AgentCommand, AgentMessage, ConversationItem } from "@berth/contract/agent.ts";
import type { AgentState } from "@berth/contract/daemon.ts";
import type { StartRequest } from "@berth/contract/daemon-internal.ts";
import type { TestDaemon } from "./test-daemon.ts";

// For tests of the agent: acts as the server and as a browser.
export async function startSession(daemon: TestDaemon, request: Partial<StartRequest>): Promise<void> {
  await daemon.fetch("/internal/start", { method: "POST", body: { env: {}, agent: null, autoStartAgent: true, ...request } });
}

export async function agentState(daemon: TestDaemon): Promise<AgentState> {
  return (await daemon.fetch<AgentState>("/agent")).json;
}

export async function agentBecomes(daemon: TestDaemon, status: AgentState["status"]): Promise<void> {
  // Some agents need seconds of CPU time to start, and the machine may be busy.
  await expect.poll(async () => (await agentState(daemon)).status, { timeout: 60_000 }).toBe(status);
}

// The messages that a browser has received over the agent's stream.
export interface Panel {
  messages: AgentMessage[];
  items(): ConversationItem[];
  send(command: AgentCommand): void;
  sees<Kind extends ConversationItem["kind"]>(
    kind: Kind,
    test?: (item: Extract<ConversationItem, { kind: Kind }>) => boolean,
  ): Promise<Extract<ConversationItem, { kind: Kind }>>;
  turnEnds(): Promise<Extract<AgentMessage, { type: "turn" }>>;
  close(): Promise<void>;
}

export async function openPanel(daemon: TestDaemon, conversationId?: string): Promise<Panel> {
  const socket = daemon.connect("/agent/stream");
  const messages: AgentMessage[] = [];
  const items = new Map<string, ConversationItem>();
  let turnsSeen = 0;
  socket.on("message", (data: Buffer) => {
    const message = JSON.parse(data.toString()) as AgentMessage;
    messages.push(message);
    if (message.type === "opened") items.clear();
    for (const item of message.type === "opened" ? message.items : message.type === "item" ? [message.item] : []) items.set(item.id, item);
    if (message.type === "append") {
      const item = items.get(message.itemId);
      if (item?.kind === "assistant" || item?.kind === "thought") item.text += message.text;
    }
  });
  await once(socket, "message");
  const panel: Panel = {
    messages,
    items: () => [...items.values()],
    send: (command) => socket.send(JSON.stringify(command)),
    async sees(kind, test = () => true) {
      type Wanted = Extract<ConversationItem, { kind: typeof kind }>;
      const find = () => [...items.values()].findLast((item): item is Wanted => item.kind === kind && test(item as Wanted));
      await expect.poll(find).toBeDefined();
      return find()!;
    },
    async turnEnds() {
      const turns = () => messages.filter((message) => message.type === "turn");
      await expect.poll(() => turns().length).toBeGreaterThan(turnsSeen);
      return turns()[turnsSeen++]!;
    },
    async close() {
      socket.close();
      await once(socket, "close");
    },
  };
  if (conversationId !== undefined) panel.send({ type: "open", conversationId });
  return panel;
}
