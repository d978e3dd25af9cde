import { once } from "node:events";
import type { AgentCommand, AgentMessage, Conversation, ConversationItem } from "@berth/contract/agent.ts";
import type { Session } from "@berth/contract";
import type { AgentState } from "@berth/contract/daemon.ts";
import { expect } from "vitest";
import { WebSocket } from "ws";
import type { Berth } from "../servers/berth.ts";

// Calls of a partner's backend and of a browser to the agent of one session.
export function createAgentCalls({ api, key }: Berth, { sandboxId, sandboxUrl, sessionId }: Session) {
  const sandbox = async (method: string, path: string, body?: object) =>
    (await api.call(method, `/sandboxes/${sandboxId}${path}`, body)).body as unknown;
  const state = async () => (await sandbox("GET", "/agent")) as AgentState;
  const exec = async (command: string) => (await api.exec(sandboxId, command)).stdout;

  return {
    sandbox,
    state,
    exec,
    becomes: (status: AgentState["status"]) => expect.poll(async () => (await state()).status, { timeout: 60_000 }).toBe(status),
    // No turn is in progress.
    isIdle: () =>
      expect
        .poll(async () => {
          const { conversations } = (await sandbox("GET", "/agent/conversations")) as { conversations: Conversation[] };
          return conversations.filter(({ busy }) => busy);
        })
        .toEqual([]),
    // Whether a process of this name runs in the sandbox.
    runs: async (name: string) => (await exec("cat /proc/[0-9]*/comm")).split("\n").includes(name),
    pause: () => api.call("POST", `/api/b2b/sessions/${sessionId}/pause`),
    resume: (body?: object) => api.call("POST", `/api/b2b/sessions/${sessionId}/resume`, body),
    destroy: () => api.call("DELETE", `/api/b2b/sessions/${sessionId}`),
    async prompt(text: string, more: object = {}): Promise<AgentMessage[]> {
      const answer = (await sandbox("POST", "/agent/prompt", { text, permissions: "allow", ...more })) as string;
      return answer
        .split("\n\n")
        .filter((part) => part.startsWith("data: "))
        .map((part) => JSON.parse(part.slice(6)) as AgentMessage);
    },
    async items(conversationId: string): Promise<ConversationItem[]> {
      return ((await sandbox("GET", `/agent/conversations/${conversationId}`)) as { items: ConversationItem[] }).items;
    },
    // A browser's end of the agent's stream, with the partner's key.
    async openPanel() {
      const socket = new WebSocket(`${sandboxUrl.replace("http", "ws")}/agent/stream`, { headers: { authorization: `Bearer ${key}` } });
      const messages: AgentMessage[] = [];
      socket.on("message", (data: Buffer) => messages.push(JSON.parse(data.toString()) as AgentMessage));
      socket.on("error", () => {});
      await once(socket, "message");
      return { socket, messages, send: (command: AgentCommand) => socket.send(JSON.stringify(command)) };
    },
  };
}

export type AgentCalls = ReturnType<typeof createAgentCalls>;

export const conversationOf = (messages: AgentMessage[]) => (messages[0]?.type === "conversation" ? messages[0].conversation.id : "");

export const wordsOf = (messages: AgentMessage[]) =>
  messages
    .map((message) =>
      message.type === "append" ? message.text : message.type === "item" && message.item.kind === "assistant" ? message.item.text : "",
    )
    .join("");
