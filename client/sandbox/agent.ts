import { BerthError } from "../http/errors.ts";
import { serverSentEvents } from "../http/streams.ts";
import type { Transport } from "../http/transport.ts";
import type { AgentAnswer, AgentMessage, AgentState, PromptOptions, QuestionAnswer } from "../types/sandbox-types.ts";

// The coding agent of a session.
export interface Agent {
  state(): Promise<AgentState>;
  start(): Promise<AgentState>;
  stop(): Promise<AgentState>;
  // Sends a prompt and yields everything that the agent does, until the end of the turn. Leaving the loop cancels the turn.
  prompt(text: string, options?: PromptOptions): AsyncGenerator<AgentMessage>;
  // Sends a prompt and resolves with the agent's text.
  ask(text: string, options?: PromptOptions): Promise<AgentAnswer>;
  // Answers a question: a permission request of a prompt with `permissions: "ask"`, a form, or an address to open.
  answer(request: { conversationId: string; itemId: string } & QuestionAnswer): Promise<void>;
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
      const texts = new Map<string, string>();
      for await (const message of prompt(text, options)) {
        if (message.type === "item" && message.item.kind === "assistant") texts.set(message.item.id, message.item.text);
        if (message.type === "append" && texts.has(message.itemId)) texts.set(message.itemId, texts.get(message.itemId) + message.text);
        if (message.type !== "turn") continue;
        if (message.stopReason === "error")
          throw new BerthError(message.message ?? "The agent failed", { code: message.code ?? "agent_failed" });
        return { text: [...texts.values()].join("\n\n"), conversationId: message.conversationId, stopReason: message.stopReason };
      }
      throw new BerthError("The connection closed before the end of the agent's turn", { code: "connection_failed" });
    },
    async answer(request) {
      await send({ method: "POST", url: `${sandboxUrl()}/agent/answer`, json: request });
    },
  };
}
