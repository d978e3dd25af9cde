import {
  agent as acpAgent,
  type AgentContext,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type RequestPermissionRequest,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import type { AgentMessage, Conversation, ConversationItem } from "@berth/contract/agent.ts";
import type { AgentState } from "@berth/contract/daemon.ts";
import type { PermissionItem } from "@berth/contract/questions.ts";
import { VERSION } from "@berth/contract/version.ts";
import type { WebSocket } from "ws";
import { toAppError } from "../../http/errors.ts";
import type { AgentSessions } from "../agent-sessions/agent-sessions.ts";
import { AgentStartError } from "../program/connection.ts";
import type { Runner } from "../program/runner.ts";
import type { Thread } from "../thread.ts";
import type { Turns } from "../turns/turns.ts";
import { configOptionsOf, headState, headUpdates, MODEL_OPTION, offeredState, offersOf, type HeadState } from "./head-updates.ts";
import { createItemUpdates, type ItemUpdates } from "./item-updates.ts";
import { remotePrompt } from "./remote-prompt.ts";
import { socketStream } from "./socket-stream.ts";

// The parts of the agent (agent.ts) that a remote client uses.
export interface RemoteAgent {
  readonly state: AgentState;
  conversations(): Conversation[];
  prepare(): Thread;
  release(thread: Thread): void;
  thread(id: string): Thread;
  answer(id: string, itemId: string, answer: object): void;
  turns: Turns;
  sessions: AgentSessions;
  runner: Pick<Runner, "connect">;
  listen(listener: (message: AgentMessage) => void): () => void;
}

export interface RemoteOptions {
  workspace: string;
}

// A conversation that the client has opened. Its id is the session of the protocol.
interface Opened {
  items: ItemUpdates;
  head: HeadState;
  // Permissions that the client was asked for, by item.
  asked: Map<string, AbortController>;
}

// The conversations that this client has begun and not prompted. Others do not see them.
const MAX_DRAFTS = 8;

// Serves the sandbox's agent to an editor elsewhere, which speaks the Agent Client Protocol over a WebSocket. To the editor, the daemon is the
// agent. The conversations are those of the workspace page: both see the same one, and either answers its questions.
export function attachRemote(agent: RemoteAgent, socket: WebSocket, { workspace }: RemoteOptions): void {
  const opened = new Map<string, Opened>();
  const drafts = new Set<Thread>();

  const { client } = acpAgent({ name: "berth" })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "berth", title: agent.state.name ?? "Berth", version: VERSION },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: false, audio: false, embeddedContext: true },
        sessionCapabilities: { list: {}, resume: {}, close: {} },
      },
      authMethods: [],
    }))
    .onRequest(methods.agent.session.new, () => refusing(create))
    .onRequest(methods.agent.session.load, ({ params: { sessionId } }) => refusing(() => load(sessionId, { withHistory: true })))
    .onRequest(methods.agent.session.resume, ({ params: { sessionId } }) => refusing(() => load(sessionId, { withHistory: false })))
    .onRequest(methods.agent.session.close, ({ params: { sessionId } }) => refusing(() => close(sessionId)))
    .onRequest(methods.agent.session.list, () => ({ sessions: agent.conversations().map(infoOf) }))
    .onRequest(methods.agent.session.prompt, ({ params: { sessionId, prompt } }) =>
      refusing(async () => {
        const thread = openThread(sessionId);
        const given = remotePrompt(prompt, workspace);
        using _own = opened.get(sessionId)?.items.expectOwn(given.text);
        const { stopReason, code, message } = await agent.turns.prompt(thread, given);
        if (stopReason === "error") throw new RequestError(-32603, message ?? "The turn has failed", { code });
        return { stopReason };
      }),
    )
    .onNotification(methods.agent.session.cancel, ({ params: { sessionId } }) => refusing(() => agent.turns.cancel(openThread(sessionId))))
    .onRequest(methods.agent.session.setMode, ({ params: { sessionId, modeId } }) =>
      refusing(async () => {
        await agent.sessions.setMode(openThread(sessionId), await agent.runner.connect(), modeId);
        return {};
      }),
    )
    .onRequest(methods.agent.session.setConfigOption, ({ params: { sessionId, configId, value } }) =>
      refusing(async () => {
        const thread = openThread(sessionId);
        const connection = await agent.runner.connect();
        if (configId === MODEL_OPTION) await agent.sessions.setModel(thread, connection, String(value));
        else await agent.sessions.setOption(thread, connection, configId, value);
        return { configOptions: configOptionsOf(thread.live.head) };
      }),
    )
    .connect(socketStream(socket));

  const unlisten = agent.listen(pass);
  socket.once("close", () => {
    unlisten();
    // A turn goes on without the client, as it does without a browser.
    for (const thread of drafts) agent.release(thread);
    for (const { asked } of opened.values()) for (const question of asked.values()) question.abort();
  });

  async function create() {
    // Starts a stopped agent; rejects if it cannot be started.
    await agent.runner.connect();
    for (const thread of drafts) if (!thread.draft) drafts.delete(thread);
    if (drafts.size >= MAX_DRAFTS) throw new RequestError(-32603, `Send a prompt to one of the ${MAX_DRAFTS} new conversations first`);
    const thread = agent.prepare();
    drafts.add(thread);
    await agent.turns.prepare(thread);
    const { head } = thread.live;
    open(thread);
    return { sessionId: head.id, ...offersOf(head) };
  }

  function load(sessionId: string, { withHistory }: { withHistory: boolean }) {
    const thread = agent.thread(sessionId);
    close(sessionId);
    const { items } = open(thread);
    for (const item of thread.live.items.values()) {
      const updates = items.item(item);
      if (withHistory) for (const update of updates) send(client, sessionId, update);
      ask(thread.live.head, item);
    }
    return offersOf(thread.live.head);
  }

  function open({ live: { head } }: Thread): Opened {
    const state: Opened = { items: createItemUpdates(workspace), head: offeredState(head), asked: new Map() };
    opened.set(head.id, state);
    // After the response, which names the session.
    setImmediate(() => passHead(head));
    return state;
  }

  function close(sessionId: string) {
    for (const question of opened.get(sessionId)?.asked.values() ?? []) question.abort();
    opened.delete(sessionId);
    return {};
  }

  // A client works only with what it has opened.
  function openThread(sessionId: string): Thread {
    if (!opened.has(sessionId)) throw new RequestError(-32002, "Create or load this session first");
    return agent.thread(sessionId);
  }

  function pass(message: AgentMessage): void {
    if (message.type === "conversation") return passHead(message.conversation);
    if (message.type === "deleted") return void close(message.conversationId);
    if (message.type !== "item" && message.type !== "append") return;
    const { conversationId: id } = message;
    const state = opened.get(id);
    if (!state) return;
    const updates = message.type === "item" ? state.items.item(message.item) : state.items.append(message.itemId, message.text);
    for (const update of updates) send(client, id, update);
    if (message.type === "item") ask(agent.thread(id).live.head, message.item);
  }

  function passHead(head: Conversation): void {
    const state = opened.get(head.id);
    if (!state) return;
    const next = headState(head);
    for (const update of headUpdates(state.head, next)) send(client, head.id, update);
    state.head = next;
  }

  // Asks the client too. The first answer counts, and the other side no longer asks.
  function ask({ id }: Conversation, item: ConversationItem): void {
    if (item.kind !== "permission") return;
    const asked = opened.get(id)?.asked;
    if (item.outcome !== null) {
      asked?.get(item.id)?.abort();
      asked?.delete(item.id);
    } else if (asked && !asked.has(item.id)) {
      const answered = new AbortController();
      asked.set(item.id, answered);
      void requestPermission(id, item, answered.signal);
    }
  }

  async function requestPermission(sessionId: string, item: PermissionItem & { id: string }, signal: AbortSignal): Promise<void> {
    const { toolItemId: toolCallId, title, options } = item;
    const request: RequestPermissionRequest = {
      sessionId,
      toolCall: { toolCallId, title },
      options: options.map(({ id: optionId, name, kind }) => ({ optionId, name, kind })),
    };
    try {
      const { outcome } = await client.request(methods.client.session.requestPermission, request, {
        cancellationSignal: signal,
        stopWaitingOnCancel: true,
      });
      if (outcome.outcome === "selected" && !signal.aborted) agent.answer(sessionId, item.id, { optionId: outcome.optionId });
    } catch {
      // The client is gone, answers nonsense, or was too late: the question still waits in the workspace, or is answered.
    }
  }

  const infoOf = ({ id, title, updatedAtMs }: Conversation) => ({
    sessionId: id,
    cwd: workspace,
    title,
    updatedAt: new Date(updatedAtMs).toISOString(),
  });
}

// A client that has gone needs no updates.
function send(client: AgentContext, sessionId: string, update: SessionUpdate): void {
  client.notify(methods.client.session.update, { sessionId, update }).catch(() => {});
}

// Errors of ours have a sentence for people and a code.
async function refusing<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RequestError) throw error;
    if (error instanceof AgentStartError) throw new RequestError(-32603, error.message, { code: "agent_failed" });
    const { code, message } = toAppError(error);
    throw new RequestError(-32603, message, { code });
  }
}
