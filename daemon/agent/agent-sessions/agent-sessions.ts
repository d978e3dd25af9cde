import {
  type InitializeResponse,
  type ListSessionsResponse,
  type McpServer,
  methods,
  type NewSessionRequest,
  RequestError,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import type { AgentSession } from "@berth/contract/agent.ts";
import { badRequest } from "../../http/errors.ts";
import { withTimeout } from "../../io/with-timeout.ts";
import type { AgentConnection } from "../program/connection.ts";
import { modelsOf, modesOf, optionOf, optionsOf, type SessionStart } from "../conversations/offers.ts";
import { plainLine } from "../conversations/plain-text.ts";
import type { SessionIds } from "../conversations/session-ids.ts";
import { chooseAgain, chooseMode, chooseModel, chooseOption, chosenBefore, hasOption, isOffered } from "./session-choices.ts";
import type { Thread } from "../thread.ts";

// The agent's own sessions, one per conversation.
export interface AgentSessions {
  // Makes the agent resume or load the session of a conversation, or start one. No-op if it has done so.
  open(thread: Thread, connection: AgentConnection): Promise<void>;
  setMode(thread: Thread, connection: AgentConnection, modeId: string): Promise<void>;
  setModel(thread: Thread, connection: AgentConnection, modelId: string): Promise<void>;
  setOption(thread: Thread, connection: AgentConnection, optionId: string, value: string | boolean): Promise<void>;
  // The sessions of this workspace that no conversation has had, such as those that a person has started in a terminal.
  list(connection: AgentConnection): Promise<AgentSession[]>;
  // Shows a session that the agent has and we do not, with what was said in it if the agent repeats that.
  adopt(thread: Thread, connection: AgentConnection, sessionId: string): Promise<void>;
  // The conversation is deleted.
  forget(thread: Thread, connection: AgentConnection): Promise<void>;
  // An update for a session that is not known yet: it may overtake the response that names the session.
  keepEarly(sessionId: string, update: SessionUpdate): void;
}

export interface AgentSessionsDeps {
  workspace: string;
  ids: SessionIds;
  threads: () => Iterable<Thread>;
  // The MCP servers that such an agent can use.
  mcpServers: (about: InitializeResponse) => McpServer[];
  // Whether the server decides about the model, whatever the agent asks for.
  isModelFixed: () => boolean;
}

const OPEN_TIMEOUT_MS = 60_000;
const MAX_EARLY_SESSIONS = 20;
// The agent holds each open session in memory.
const MAX_OPEN_SESSIONS = 8;
const MAX_LISTED = 50;
const MAX_PAGES = 5;
export const AUTH_REQUIRED = -32000;

type OpenMethod = typeof methods.agent.session.load | typeof methods.agent.session.resume;

export function createAgentSessions({ workspace, ids, threads, mcpServers, isModelFixed }: AgentSessionsDeps): AgentSessions {
  const early = new Map<string, SessionUpdate[]>();
  const settingsFor = ({ about }: AgentConnection): NewSessionRequest => ({ cwd: workspace, mcpServers: mcpServers(about) });

  return {
    open: ensureOpen,
    async setMode(thread, connection, modeId) {
      if (!isOffered(thread.live.head.modes, modeId)) throw badRequest("The agent does not offer this mode");
      await ensureOpen(thread, connection);
      await chooseMode(thread, connection, modeId);
    },
    async setModel(thread, connection, modelId) {
      if (!isOffered(thread.live.head.models, modelId)) throw badRequest("The agent does not offer this model");
      await ensureOpen(thread, connection);
      await chooseModel(thread, connection, modelId);
    },
    async setOption(thread, connection, optionId, value) {
      if (!hasOption(thread, optionId, value)) throw badRequest("The agent does not offer this option or this value");
      await ensureOpen(thread, connection);
      await chooseOption(thread, connection, optionId, value);
    },
    async list(connection) {
      if (!capabilities(connection).list) return [];
      const taken = new Set([...threads()].map(({ sessionId }) => sessionId));
      const found: AgentSession[] = [];
      let cursor: string | null | undefined;
      for (let page = 0; page < MAX_PAGES && cursor !== null; page++) {
        const request = { cwd: workspace, ...(cursor ? { cursor } : {}) };
        const response: ListSessionsResponse = await beforeTimeout(connection.agent.request(methods.agent.session.list, request));
        for (const { sessionId, cwd, title, updatedAt } of response.sessions)
          if (cwd === workspace && !taken.has(sessionId) && !ids.has(sessionId))
            found.push({ sessionId, title: plainLine(title ?? "", 200) || "Untitled", updatedAtMs: Date.parse(updatedAt ?? "") || null });
        cursor = response.nextCursor || null;
      }
      return found.toSorted((a, b) => (b.updatedAtMs ?? 0) - (a.updatedAtMs ?? 0)).slice(0, MAX_LISTED);
    },
    async adopt(thread, connection, sessionId) {
      Object.assign(thread, { sessionId, prompted: true });
      const canLoad = connection.about.agentCapabilities?.loadSession === true;
      const method = canLoad ? methods.agent.session.load : methods.agent.session.resume;
      await openAgain(thread, connection, sessionId, { method, replaying: canLoad ? "shown" : null });
      ids.add(sessionId);
      if (!canLoad)
        thread.live.add({
          kind: "notice",
          level: "info",
          text: "The agent remembers this conversation, but does not repeat its messages.",
        });
    },
    async forget(thread, connection) {
      const { sessionId } = thread;
      if (sessionId === null) return;
      const { delete: canDelete, close: canClose } = capabilities(connection);
      if (canDelete) await connection.agent.request(methods.agent.session.delete, { sessionId });
      else if (canClose && thread.loadedIn === connection) await connection.agent.request(methods.agent.session.close, { sessionId });
    },
    keepEarly(sessionId, update) {
      if (early.size >= MAX_EARLY_SESSIONS) early.clear();
      if (CURRENT_STATE.has(update.sessionUpdate)) early.set(sessionId, [...(early.get(sessionId) ?? []), update].slice(-10));
    },
  };

  async function ensureOpen(thread: Thread, connection: AgentConnection): Promise<void> {
    while (thread.opening) await thread.opening.catch(() => {});
    if (thread.loadedIn === connection) return;
    await during(thread, open(thread, connection));
    for (const each of tooMany(connection)) void during(each, close(each, connection)).catch(() => {});
  }

  // Others wait for it.
  async function during(thread: Thread, opening: Promise<void>): Promise<void> {
    thread.opening = opening;
    try {
      await opening;
    } finally {
      thread.opening = null;
    }
  }

  async function open(thread: Thread, connection: AgentConnection): Promise<void> {
    // An agent need not remember a session without a prompt.
    const isRemembered = thread.sessionId !== null && thread.prompted;
    if (isRemembered && (await reopen(thread, connection, thread.sessionId ?? ""))) return;
    if (isRemembered)
      thread.live.add({ kind: "notice", level: "info", text: "The agent was restarted and does not remember the conversation so far." });
    const created = await beforeTimeout(connection.agent.request(methods.agent.session.new, settingsFor(connection)));
    ids.add(created.sessionId);
    await opened(thread, connection, created.sessionId, created);
  }

  // Resuming repeats nothing, and loading repeats the whole conversation, which we have already. Returns false if the agent has lost it.
  async function reopen(thread: Thread, connection: AgentConnection, sessionId: string): Promise<boolean> {
    const { resume, load } = methods.agent.session;
    const offered = [
      ...(capabilities(connection).resume ? [resume] : []),
      ...(connection.about.agentCapabilities?.loadSession ? [load] : []),
    ];
    for (const method of offered) {
      try {
        await openAgain(thread, connection, sessionId, { method, replaying: "ignored" });
        return true;
      } catch (error) {
        if (error instanceof RequestError && error.code === AUTH_REQUIRED) throw error;
      }
    }
    return false;
  }

  // `replaying`: what happens to the messages that the agent repeats meanwhile.
  async function openAgain(
    thread: Thread,
    connection: AgentConnection,
    sessionId: string,
    { method, replaying }: { method: OpenMethod; replaying: Thread["replaying"] },
  ): Promise<void> {
    thread.replaying = replaying;
    try {
      const session = await beforeTimeout(connection.agent.request(method, { ...settingsFor(connection), sessionId }));
      await opened(thread, connection, sessionId, session);
    } finally {
      thread.replaying = null;
    }
  }

  async function opened(thread: Thread, connection: AgentConnection, sessionId: string, session: SessionStart | null): Promise<void> {
    const { head } = thread.live;
    const chosen = chosenBefore(thread);
    const { modes, configOptions } = session ?? {};
    thread.sessionId = sessionId;
    thread.loadedIn = connection;
    thread.options = {
      mode: modes ? null : (optionOf(configOptions, "mode")?.id ?? null),
      model: optionOf(configOptions, "model")?.id ?? null,
    };
    const models = isModelFixed() ? null : modelsOf({ configOptions });
    const options = optionsOf(configOptions, models);
    thread.live.changeHead({ modes: modesOf({ modes, configOptions }) ?? head.modes, models, options });
    for (const update of early.get(sessionId) ?? []) thread.live.apply(update);
    early.delete(sessionId);
    // The agent may have forgotten what a person had chosen.
    await chooseAgain(thread, connection, chosen);
  }

  // The sessions that the agent no longer has to hold, because it can resume or load them.
  function tooMany(connection: AgentConnection): Thread[] {
    const { close: canClose, resume: canResume } = capabilities(connection);
    if (!canClose || !(canResume || connection.about.agentCapabilities?.loadSession)) return [];
    const open = [...threads()].filter(({ loadedIn }) => loadedIn === connection);
    return open
      .filter(({ turn, opening, draft }) => turn === null && opening === null && draft === null)
      .toSorted((a, b) => a.live.head.updatedAtMs - b.live.head.updatedAtMs)
      .slice(0, Math.max(0, open.length - MAX_OPEN_SESSIONS));
  }

  async function close(thread: Thread, connection: AgentConnection): Promise<void> {
    thread.loadedIn = null;
    await beforeTimeout(connection.agent.request(methods.agent.session.close, { sessionId: thread.sessionId ?? "" }));
  }
}

// Updates about the session as it is, which count even while the agent repeats an old conversation.
export const CURRENT_STATE: ReadonlySet<string> = new Set([
  "available_commands_update",
  "config_option_update",
  "current_mode_update",
  "usage_update",
]);

const capabilities = ({ about }: AgentConnection) => about.agentCapabilities?.sessionCapabilities ?? {};

function beforeTimeout<T>(answer: Promise<T>): Promise<T> {
  const seconds = OPEN_TIMEOUT_MS / 1000;
  return withTimeout(answer, OPEN_TIMEOUT_MS, () => new Error(`The agent did not open the conversation within ${seconds} seconds`));
}
