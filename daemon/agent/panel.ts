import type { AgentCommand, AgentMessage, Conversation } from "@berth/contract/agent.ts";
import { AppError } from "@berth/contract/errors.ts";
import type { WebSocket } from "ws";
import { requiredText as text } from "../http/body.ts";
import { badRequest, toAppError } from "../http/errors.ts";
import { parseMessage } from "../http/sockets.ts";
import type { Agent } from "./agent.ts";
import { parsePrompt } from "./prompts/prompt-content.ts";
import type { Thread } from "./thread.ts";

const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;
const MAX_TITLE = 200;

type Allows = (command: AgentCommand["type"]) => boolean;

// The commands of a viewer, who reads conversations.
const VIEWER_COMMANDS: readonly AgentCommand["type"][] = ["open", "close"];
export const allowsViewer: Allows = (command) => VIEWER_COMMANDS.includes(command);

// Serves the agent's stream to one browser. Other commands than those that `allows` accepts are refused.
export function attachPanel(agent: Agent, socket: WebSocket, allows: Allows): void {
  const opened = new Set<string>();
  const send = (message: AgentMessage) => {
    // Disconnect a browser that is too far behind. It reconnects and loads everything again.
    if (socket.bufferedAmount > MAX_BUFFERED_BYTES) socket.terminate();
    else socket.send(JSON.stringify(message));
  };
  const unlisten = agent.listen((message) => {
    if (opened.has(idOf(message) ?? "") || !isDetail(message)) send(message);
  });
  // The conversation that this panel shows before its first prompt.
  let prepared: Thread | null = null;
  socket.on("close", () => {
    unlisten();
    if (prepared) agent.release(prepared);
  });
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
    if (!allows(command.type)) throw new AppError("view_only");
    switch (command.type) {
      case "open":
        return open(text(command.conversationId, "conversationId"));
      case "close":
        return void opened.delete(command.conversationId);
      case "create":
        return void create(text(command.requestId, "requestId"));
      case "prompt": {
        const prompt = parsePrompt(command);
        const id = command.conversationId ?? create(text(command.requestId, "requestId"));
        if (command.restoreItemId !== undefined) await agent.restores.restore(thread(id), text(command.restoreItemId, "restoreItemId"));
        return void (await agent.turns.prompt(thread(id), prompt));
      }
      case "prepare":
        return await prepare(text(command.requestId, "requestId"));
      case "queue":
        return await agent.queue.add(thread(command.conversationId), parsePrompt(command));
      case "unqueue":
        return agent.queue.remove(thread(command.conversationId), text(command.queuedId, "queuedId"));
      case "sendQueued":
        return await agent.queue.send(thread(command.conversationId), text(command.queuedId, "queuedId"));
      case "cancel":
        return await agent.turns.cancel(thread(command.conversationId));
      case "answer":
        return agent.answer(text(command.conversationId, "conversationId"), text(command.itemId, "itemId"), command);
      case "disallow": {
        const { live } = thread(command.conversationId);
        return live.changeHead({ alwaysAllowed: live.head.alwaysAllowed.filter((action) => action !== command.action) });
      }
      case "rename": {
        const title = text(command.title, "title").trim().slice(0, MAX_TITLE);
        if (title === "") throw badRequest("title must not be empty");
        return thread(command.conversationId).live.changeHead({ title, renamed: true });
      }
      case "mode":
        return await agent.sessions.setMode(thread(command.conversationId), await agent.runner.connect(), text(command.modeId, "modeId"));
      case "model":
        return await agent.sessions.setModel(
          thread(command.conversationId),
          await agent.runner.connect(),
          text(command.modelId, "modelId"),
        );
      case "option": {
        const { conversationId, optionId, value } = command;
        if (typeof value !== "boolean" && typeof value !== "string") throw badRequest("value must be a string or a boolean");
        return await agent.sessions.setOption(thread(conversationId), await agent.runner.connect(), text(optionId, "optionId"), value);
      }
      case "sessions": {
        const requestId = text(command.requestId, "requestId");
        return send({ type: "sessions", requestId, sessions: await agent.found() });
      }
      case "adopt": {
        const requestId = text(command.requestId, "requestId");
        return show(requestId, await agent.adopt(text(command.sessionId, "sessionId")));
      }
      case "restore":
        return await agent.restores.restore(thread(command.conversationId), text(command.itemId, "itemId"));
      case "review":
        return await agent.reviews.review(thread(command.conversationId), command);
      case "delete":
        return agent.remove(text(command.conversationId, "conversationId"));
      default:
        throw badRequest("This command does not exist");
    }
  }

  function thread(id: unknown): Thread {
    return agent.thread(text(id, "conversationId"));
  }

  function isDetail(message: AgentMessage): boolean {
    if (message.type === "item" || message.type === "append") return true;
    return message.type === "conversation" && agent.isDraft(message.conversation.id);
  }

  async function prepare(requestId: string): Promise<void> {
    if (!prepared?.draft) prepared = agent.prepare();
    const { head } = prepared.live;
    send({ type: "created", requestId, conversation: head });
    open(head.id);
    await agent.turns.prepare(prepared);
  }

  function open(id: string): void {
    const { live } = agent.thread(id);
    opened.add(id);
    send({ type: "opened", conversationId: id, items: [...live.items.values()] });
  }

  function create(requestId: string): string {
    const conversation = agent.create();
    show(requestId, conversation);
    return conversation.id;
  }

  function show(requestId: string, conversation: Conversation): void {
    send({ type: "created", requestId, conversation });
    open(conversation.id);
  }
}

const idOf = (message: AgentMessage): string | undefined =>
  message.type === "conversation" ? message.conversation.id : "conversationId" in message ? message.conversationId : undefined;

const optional = (value: unknown) => (typeof value === "string" ? value : undefined);
