import type { AgentCommand, AgentMessage } from "@berth/contract/agent.ts";
import type { AgentState } from "@berth/contract/daemon.ts";
import type { WebSocket } from "ws";
import type { Agent } from "./agent/agent.ts";
import { restingState } from "./agent-state.ts";
import { type Environment, isStringArray } from "./environment.ts";
import { badRequest, type Call, readJson, type Route, sendJson, toFault, type UpgradeRoute } from "./http.ts";
import { acceptSocket, parseMessage } from "./sockets.ts";

// The agent's addresses. The agent itself, with its protocol library, is loaded when one of them is first used in
// earnest: a session that never talks to an agent does not pay for it.
export interface AgentDoor {
  routes: Route[];
  upgrades: UpgradeRoute[];
  readonly state: AgentState;
  // The server has (again) said what to run with.
  started(): void;
  // Ends the agent and writes the conversations to disk.
  stop(): void;
}

export interface AgentDoorDeps {
  environment: Environment;
  workspace: string;
  folder: string;
  changed: (state: AgentState) => void;
}

const MAX_TEXT = 512 * 1024;
const MAX_FILES = 50;
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;
const KEEP_ALIVE_MS = 15_000;

export function createAgentDoor(deps: AgentDoorDeps): AgentDoor {
  const { environment } = deps;
  let agent: Agent | null = null;
  let loading: Promise<Agent> | null = null;
  let runsWith = "";

  const load = () =>
    (loading ??= import("./agent/agent.ts").then(({ createAgent }) => {
      agent = createAgent(deps);
      return agent;
    }));
  const state = () => agent?.state ?? restingState(environment);

  return {
    get state() {
      return state();
    },
    started() {
      // What runs with other variables than these ends; told the same again (a resume), it goes on.
      const now = JSON.stringify([environment.request.agent, environment.request.env]);
      if (now !== runsWith) agent?.stop();
      runsWith = now;
      const resting = restingState(environment);
      if (!agent) deps.changed(resting);
      if (environment.request.autoStartAgent && resting.status === "stopped") void load().then((loaded) => loaded.start());
    },
    stop() {
      agent?.stop();
      agent?.save();
    },
    routes: [
      { method: "GET", path: "/agent", handle: ({ response }) => sendJson(response, 200, state()) },
      {
        method: "POST",
        path: "/agent/start",
        async handle({ response }) {
          if (restingState(environment).status === "stopped") (await load()).start();
          sendJson(response, 200, state());
        },
      },
      {
        method: "POST",
        path: "/agent/stop",
        handle({ response }) {
          agent?.stop();
          sendJson(response, 200, state());
        },
      },
      {
        method: "GET",
        path: "/agent/conversations",
        async handle({ response }) {
          sendJson(response, 200, { conversations: (await load()).conversations() });
        },
      },
      {
        method: "GET",
        path: "/agent/conversations/:id",
        async handle({ response, params: { id = "" } }) {
          const { live } = (await load()).thread(id);
          sendJson(response, 200, { conversation: live.head, items: [...live.items.values()] });
        },
      },
      {
        method: "DELETE",
        path: "/agent/conversations/:id",
        async handle({ response, params: { id = "" } }) {
          (await load()).remove(id);
          response.writeHead(204).end();
        },
      },
      { method: "POST", path: "/agent/prompt", handle: async (call) => await streamPrompt(await load(), environment, call) },
      {
        method: "POST",
        path: "/agent/answer",
        async handle({ request, response }) {
          const { conversationId, itemId, optionId } = await readJson(request);
          const loaded = await load();
          loaded.turns.answer(loaded.thread(text(conversationId, "conversationId")), text(itemId, "itemId"), text(optionId, "optionId"));
          response.writeHead(204).end();
        },
      },
      {
        method: "POST",
        path: "/agent/cancel",
        async handle({ request, response }) {
          const { conversationId } = await readJson(request);
          const loaded = await load();
          await loaded.turns.cancel(loaded.thread(text(conversationId, "conversationId")));
          response.writeHead(204).end();
        },
      },
    ],
    upgrades: [
      {
        path: "/agent/stream",
        async upgrade(call) {
          const loaded = await load();
          acceptSocket(call, (socket) => attach(loaded, socket));
        },
      },
    ],
  };
}

// One turn for a caller without a browser, as server-sent events.
async function streamPrompt(agent: Agent, environment: Environment, { request, response }: Call): Promise<void> {
  const body = await readJson(request);
  const { permissions = "ask" } = body;
  if (permissions !== "ask" && permissions !== "allow" && permissions !== "reject")
    throw badRequest("permissions must be ask, allow or reject");
  const prompt = text(body.text, "text");
  const { status, missing, message } = restingState(environment);
  if (status === "none" || status === "unconfigured")
    return sendJson(response, 409, { error: message ?? "This session has no agent", code: `agent_${status}`, missing });
  const thread = agent.thread(body.conversationId === undefined ? agent.create().id : text(body.conversationId, "conversationId"));
  const { id } = thread.live.head;

  const send = (event: AgentMessage) => {
    if (!response.headersSent)
      response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no" });
    response.write(`data: ${JSON.stringify(event)}\n\n`);
    // Whoever does not read is gone.
    if (response.writableLength > MAX_BUFFERED_BYTES) response.destroy();
  };
  const isFree = thread.turn === null;
  const turn = agent.turns.prompt(thread, prompt, { permissions });
  // It runs now (or `turn` says at once why not: then the turn that is under way is another caller's).
  let over = false;
  response.on("close", () => !over && void agent.turns.cancel(thread));
  const unlisten = agent.listen((event) => belongsTo(event, id) && send(event));
  const alive = setInterval(() => response.headersSent && response.write(":\n\n"), KEEP_ALIVE_MS);
  try {
    if (isFree && thread.turn) send({ type: "conversation", conversation: thread.live.head });
    await turn;
    over = true;
    response.end();
  } finally {
    over = true;
    unlisten();
    clearInterval(alive);
  }
}

function belongsTo(message: AgentMessage, id: string): boolean {
  return message.type === "conversation" ? message.conversation.id === id : "conversationId" in message && message.conversationId === id;
}

// One browser.
function attach(agent: Agent, socket: WebSocket): void {
  const opened = new Set<string>();
  const send = (message: AgentMessage) => {
    // Too far behind to catch up: it connects again and reads everything anew.
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
    obey(command).catch((error: unknown) => {
      const { code, message } = toFault(error);
      send({ type: "refused", requestId: optional(command.requestId), conversationId: optional(command.conversationId), code, message });
    });
  });
  send({ type: "hello", agent: agent.state, conversations: agent.conversations() });

  async function obey(command: AgentCommand): Promise<void> {
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
        throw badRequest("There is no such command");
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

function text(value: unknown, name: string): string {
  if (typeof value !== "string" || value === "" || value.length > MAX_TEXT)
    throw badRequest(`${name} must be a string of 1 to ${MAX_TEXT} characters`);
  return value;
}
