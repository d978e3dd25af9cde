import { methods, type NewSessionRequest, RequestError, type SessionUpdate } from "@agentclientprotocol/sdk";
import { badRequest } from "../http/errors.ts";
import { withTimeout } from "../io/with-timeout.ts";
import type { AgentConnection } from "./program/connection.ts";
import { modelsOf, modesOf, optionOf, type SessionStart } from "./conversations/offers.ts";
import type { Thread } from "./thread.ts";

// The agent's own sessions, one per conversation.
export interface AgentSessions {
  // Makes the agent load the session of a conversation, or start one. No-op if it has done so.
  open(thread: Thread, connection: AgentConnection): Promise<void>;
  setMode(thread: Thread, connection: AgentConnection, modeId: string): Promise<void>;
  setModel(thread: Thread, connection: AgentConnection, modelId: string): Promise<void>;
  // An update for a session that is not known yet: it may overtake the response that names the session.
  keepEarly(sessionId: string, update: SessionUpdate): void;
}

export interface AgentSessionsDeps {
  workspace: string;
  // Whether the server decides about the model, whatever the agent asks for.
  isModelFixed: () => boolean;
}

const OPEN_TIMEOUT_MS = 60_000;
const MAX_EARLY_SESSIONS = 20;
export const AUTH_REQUIRED = -32000;

export function createAgentSessions({ workspace, isModelFixed }: AgentSessionsDeps): AgentSessions {
  const early = new Map<string, SessionUpdate[]>();

  return {
    async open(thread, connection) {
      while (thread.opening) await thread.opening.catch(() => {});
      if (thread.loadedIn === connection) return;
      const opening = open(thread, connection);
      thread.opening = opening;
      try {
        await opening;
      } finally {
        thread.opening = null;
      }
    },
    async setMode(thread, connection, modeId) {
      const { modes } = thread.live.head;
      if (!modes?.available.some((mode) => mode.id === modeId)) throw badRequest("The agent does not offer this mode");
      await this.open(thread, connection);
      const sessionId = thread.sessionId ?? "";
      const { mode: configId } = thread.options;
      if (configId === null) await connection.agent.request(methods.agent.session.setMode, { sessionId, modeId });
      else await connection.agent.request(methods.agent.session.setConfigOption, { sessionId, configId, value: modeId });
      thread.live.changeHead({ modes: { ...(thread.live.head.modes ?? modes), current: modeId } });
    },
    async setModel(thread, connection, modelId) {
      const { models } = thread.live.head;
      if (!models?.available.some((model) => model.id === modelId)) throw badRequest("The agent does not offer this model");
      await this.open(thread, connection);
      const configId = thread.options.model;
      if (configId === null) throw badRequest("The agent offers no models");
      await connection.agent.request(methods.agent.session.setConfigOption, {
        sessionId: thread.sessionId ?? "",
        configId,
        value: modelId,
      });
      thread.live.changeHead({ models: { ...(thread.live.head.models ?? models), current: modelId } });
    },
    keepEarly(sessionId, update) {
      if (early.size >= MAX_EARLY_SESSIONS) early.clear();
      if (CURRENT_STATE.has(update.sessionUpdate)) early.set(sessionId, [...(early.get(sessionId) ?? []), update].slice(-10));
    },
  };

  async function open(thread: Thread, connection: AgentConnection): Promise<void> {
    const settings: NewSessionRequest = { cwd: workspace, mcpServers: [] };
    // An agent need not remember a session without a prompt.
    const isRemembered = thread.sessionId !== null && thread.prompted;
    if (isRemembered && connection.about.agentCapabilities?.loadSession) {
      thread.replaying = true;
      try {
        const sessionId = thread.sessionId ?? "";
        const loaded = await beforeTimeout(connection.agent.request(methods.agent.session.load, { ...settings, sessionId }));
        return opened(thread, connection, sessionId, loaded);
      } catch (error) {
        if (error instanceof RequestError && error.code === AUTH_REQUIRED) throw error;
        // The agent has lost the session, so a new one is created below.
      } finally {
        thread.replaying = false;
      }
    }
    if (isRemembered)
      thread.live.add({ kind: "notice", level: "info", text: "The agent was restarted and does not remember the conversation so far." });
    const created = await beforeTimeout(connection.agent.request(methods.agent.session.new, settings));
    opened(thread, connection, created.sessionId, created);
  }

  function opened(thread: Thread, connection: AgentConnection, sessionId: string, session: SessionStart): void {
    thread.sessionId = sessionId;
    thread.loadedIn = connection;
    thread.options = {
      mode: session.modes ? null : (optionOf(session.configOptions, "mode")?.id ?? null),
      model: optionOf(session.configOptions, "model")?.id ?? null,
    };
    const models = isModelFixed() ? null : modelsOf(session);
    thread.live.changeHead({ modes: modesOf(session) ?? thread.live.head.modes, models });
    for (const update of early.get(sessionId) ?? []) thread.live.apply(update);
    early.delete(sessionId);
  }
}

// Updates about the session as it is, which count even while the agent repeats an old conversation.
export const CURRENT_STATE: ReadonlySet<string> = new Set(["available_commands_update", "current_mode_update", "usage_update"]);

function beforeTimeout<T>(answer: Promise<T>): Promise<T> {
  const seconds = OPEN_TIMEOUT_MS / 1000;
  return withTimeout(answer, OPEN_TIMEOUT_MS, () => new Error(`The agent did not open the conversation within ${seconds} seconds`));
}
