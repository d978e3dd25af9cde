import type { AgentCommand, AgentMessage } from "@berth/contract/agent.ts";
import type { WebSocket } from "ws";
import { isStringArray, requiredText as text } from "../http/body.ts";
import { badRequest, toAppError } from "../http/errors.ts";
import { parseMessage } from "../http/sockets.ts";
import type { Agent } from "./agent.ts";

const MAX_FILES = 50;
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;

// Serves the agent's stream to one browser.
export function attachPanel(agent: Agent, socket: WebSocket): void {
  const opened = new Set<string>();
  const send = (message: AgentMessage) => {
    // Disconnect a browser that is too far behind. It reconnects and loads everything again.
    if (socket.bufferedAmount > MAX_BUFFERED_BYTES) socket.terminate();
    else socket.send(JSON.stringify(message));
  };
  const unlisten = agent.listen((message) => {
    const detail = message.type === "item" || message.type === "append";
    if (!detail || opened.has(message.conversationId)) send(message);
  });
  socket.on("close", unlisten);
  socket.on("message", (data) => {
    const command = parseMessage(data) as (AgentCommand & Record<string, unknown>) | null;
    if (!command) return;
    run(command).catch((error: unknown) => {
      const { code, message } = toAppError(error);
      send({ type: "refused", requestId: optional(command.requestId), conversationId: optional(command.conversationId), code, message });
    });
  });
  send({ type: "hello", agent: agent.state, conversations: agent.conversations() });

  async function run(command: AgentCommand): Promise<void> {
    switch (command.type) {
      case "open":
        return open(text(command.conversationId, "conversationId"));
      case "close":
        return void opened.delete(command.conversationId);
      case "create":
        return void create(text(command.requestId, "requestId"));
      case "prompt": {
        const prompt = text(command.text, "text");
        const files = command.files ?? [];
        if (!isStringArray(files) || files.length > MAX_FILES) throw badRequest("files must be an array of paths");
        const id = command.conversationId ?? create(text(command.requestId, "requestId"));
        return await agent.turns.prompt(agent.thread(text(id, "conversationId")), prompt, { files });
      }
      case "cancel":
        return await agent.turns.cancel(agent.thread(text(command.conversationId, "conversationId")));
      case "answer":
        return agent.turns.answer(
          agent.thread(text(command.conversationId, "conversationId")),
          text(command.itemId, "itemId"),
          text(command.optionId, "optionId"),
        );
      case "mode":
        return await agent.turns.setMode(agent.thread(text(command.conversationId, "conversationId")), text(command.modeId, "modeId"));
      case "delete":
        return agent.remove(text(command.conversationId, "conversationId"));
      default:
        throw badRequest("This command does not exist");
    }
  }

  function open(id: string): void {
    const { live } = agent.thread(id);
    opened.add(id);
    send({ type: "opened", conversationId: id, items: [...live.items.values()] });
  }

  function create(requestId: string): string {
    const conversation = agent.create();
    send({ type: "created", requestId, conversation });
    open(conversation.id);
    return conversation.id;
  }
}

const optional = (value: unknown) => (typeof value === "string" ? value : undefined);
