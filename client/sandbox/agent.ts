import { BerthError } from "../http/errors.ts";
import type { AgentAnswer, AgentMessage, AgentState, PromptOptions } from "./sandbox-types.ts";
import { serverSentEvents } from "../http/streams.ts";
import type { Transport } from "../http/transport.ts";

// The coding agent of a session.
export interface Agent {
  state(): Promise<AgentState>;
  start(): Promise<AgentState>;
  stop(): Promise<AgentState>;
  // Gives the agent work and tells everything it does until it has finished. Leaving the loop cancels the turn.
  prompt(text: string, options?: PromptOptions): AsyncGenerator<AgentMessage>;
  // The same, to what the agent said in the end.
  ask(text: string, options?: PromptOptions): Promise<AgentAnswer>;
  // Answers a permission request of a prompt that asks.
  answer(request: { conversationId: string; itemId: string; optionId: string }): Promise<void>;
}

export function createAgent(send: Transport, sandboxUrl: () => string): Agent {
  const call = async (method: "GET" | "POST", path: string) =>
    (await (await send({ method, url: `${sandboxUrl()}${path}` })).json()) as AgentState;

  async function* prompt(text: string, { signal, ...options }: PromptOptions = {}): AsyncGenerator<AgentMessage> {
    const headers = { accept: "text/event-stream" };
    const response = await send({
      method: "POST",
      url: `${sandboxUrl()}/agent/prompt`,
      json: { text, ...options },
      headers,
      signal,
      streaming: true,
    });
    for await (const { data } of serverSentEvents(response)) {
      const message = JSON.parse(data) as AgentMessage;
      yield message;
      if (message.type === "turn") return;
    }
  }

  return {
    state: () => call("GET", "/agent"),
    start: () => call("POST", "/agent/start"),
    stop: () => call("POST", "/agent/stop"),
    prompt,
    async ask(text, options) {
      const said = new Map<string, string>();
      for await (const message of prompt(text, options)) {
        if (message.type === "item" && message.item.kind === "assistant") said.set(message.item.id, message.item.text);
        if (message.type === "append" && said.has(message.itemId)) said.set(message.itemId, said.get(message.itemId) + message.text);
        if (message.type !== "turn") continue;
        if (message.stopReason === "error") throw new BerthError(message.message ?? "The agent failed", { code: "agent_failed" });
        return { text: [...said.values()].join("\n\n"), conversationId: message.conversationId, stopReason: message.stopReason };
      }
      throw new BerthError("The agent's answer broke off", { code: "connection_failed" });
    },
    async answer(request) {
      await send({ method: "POST", url: `${sandboxUrl()}/agent/answer`, json: request });
    },
  };
}
