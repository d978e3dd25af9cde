import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import {
  type ContentBlock,
  methods,
  type NewSessionRequest,
  RequestError,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import type { ConversationItem, PermissionItem, PromptRequest, StopReason } from "@berth/contract/agent.ts";
import { AppError, isAppError } from "@berth/contract/errors.ts";
import { badRequest } from "../http/errors.ts";
import { withTimeout } from "../io/with-timeout.ts";
import { type AgentConnection, messageOf } from "./connection.ts";
import type { LiveConversation } from "./conversations/conversation.ts";
import { modeOptionOf, modesOf, type SessionStart } from "./conversations/modes.ts";
import type { Runner } from "./runner.ts";

// A conversation together with the agent's session for it and the turn in progress.
export interface Thread {
  readonly live: LiveConversation;
  sessionId: string | null;
  // The connection that has this session loaded.
  loadedIn: AgentConnection | null;
  // The id of the session option with the modes, for an agent that offers its modes as an option.
  modeOption: string | null;
  // The agent is repeating an old session. Its updates are ignored, because the items already exist.
  replaying: boolean;
  turn: Turn | null;
}

interface Turn {
  permissions: NonNullable<PromptRequest["permissions"]>;
  cancelled: boolean;
  // Pending permission requests, by item id.
  waiting: Map<string, (outcome: PermissionItem["outcome"]) => void>;
  // Ends the turn without the agent's answer.
  abandon: (error: Error) => void;
  // Resolves when the turn has ended, for whatever reason.
  over: Promise<void>;
}

export interface Turns {
  prompt(thread: Thread, text: string, options?: { files?: string[]; permissions?: PromptRequest["permissions"] }): Promise<void>;
  cancel(thread: Thread): Promise<void>;
  answer(thread: Thread, itemId: string, optionId: string): void;
  ask(thread: Thread, request: RequestPermissionRequest): Promise<RequestPermissionResponse>;
  setMode(thread: Thread, modeId: string): Promise<void>;
}

export interface TurnsDeps {
  runner: Runner;
  workspace: string;
  onTurnEnd: (thread: Thread, stopReason: StopReason, message?: string) => void;
}

const CANCEL_TIMEOUT_MS = 10_000;
const CANCEL_INTERVAL_MS = 500;
const OPEN_TIMEOUT_MS = 60_000;
const EXIT_REPORT_MS = 1000;
const AUTH_REQUIRED = -32000;

export function createTurns({ runner, workspace, onTurnEnd }: TurnsDeps): Turns {
  return { prompt, cancel, answer, ask, setMode };

  // Resolves when the turn has ended. Its items are published as they arrive.
  async function prompt(
    thread: Thread,
    text: string,
    { files = [], permissions = "ask" }: Parameters<Turns["prompt"]>[2] = {},
  ): Promise<void> {
    if (thread.turn) throw new AppError("agent_busy");
    if (thread.live.full) throw new AppError("agent_conversation_full");
    const abandoned = Promise.withResolvers<never>();
    abandoned.promise.catch(() => {});
    const over = Promise.withResolvers<void>();
    const turn: Turn = { permissions, cancelled: false, waiting: new Map(), abandon: abandoned.reject, over: over.promise };
    thread.turn = turn;
    const { live } = thread;
    if (![...live.items.values()].some((item) => item.kind === "user")) live.head.title = firstLine(text);
    live.add({ kind: "user", text });
    live.changeHead({ busy: true });

    let stopReason: StopReason = "error";
    let message: string | undefined;
    try {
      const content: ContentBlock[] = [{ type: "text", text }, ...files.map((path) => linkTo(workspace, path))];
      stopReason = await Promise.race([runTurn(thread, turn, content), abandoned.promise]);
    } catch (error) {
      message = explain(await rootCause(error, abandoned.promise));
    }
    if (turn.cancelled) [stopReason, message] = ["cancelled", undefined];
    if (message !== undefined) live.add({ kind: "notice", level: "error", text: message });
    if (stopReason === "cancelled") live.add({ kind: "notice", level: "info", text: "Cancelled" });
    for (const settle of turn.waiting.values()) settle({ type: "cancelled" });
    settleTools(live);
    live.endText();
    thread.turn = null;
    over.resolve();
    live.changeHead({ busy: false });
    onTurnEnd(thread, stopReason, message);
  }

  async function runTurn(thread: Thread, turn: Turn, content: ContentBlock[]): Promise<StopReason> {
    const connection = await runner.connect();
    await openSession(thread, connection);
    // The turn was cancelled or abandoned while the agent was starting.
    if (turn.cancelled || thread.turn !== turn) return "cancelled";
    const response = await connection.agent.request(methods.agent.session.prompt, {
      sessionId: thread.sessionId ?? "",
      prompt: content,
    });
    return response.stopReason;
  }

  async function openSession(thread: Thread, connection: AgentConnection): Promise<void> {
    if (thread.loadedIn === connection) return;
    const settings: NewSessionRequest = { cwd: workspace, mcpServers: [] };
    if (thread.sessionId !== null && connection.about.agentCapabilities?.loadSession) {
      thread.replaying = true;
      try {
        const loaded = await beforeTimeout(
          connection.agent.request(methods.agent.session.load, { ...settings, sessionId: thread.sessionId }),
        );
        return opened(thread, connection, thread.sessionId, loaded);
      } catch (error) {
        if (error instanceof RequestError && error.code === AUTH_REQUIRED) throw error;
        // The agent has lost the session, so a new one is created below.
      } finally {
        thread.replaying = false;
      }
    }
    if (thread.sessionId !== null)
      thread.live.add({ kind: "notice", level: "info", text: "The agent was restarted and does not remember the conversation so far." });
    const created = await beforeTimeout(connection.agent.request(methods.agent.session.new, settings));
    opened(thread, connection, created.sessionId, created);
  }

  function opened(thread: Thread, connection: AgentConnection, sessionId: string, session: SessionStart): void {
    thread.sessionId = sessionId;
    thread.loadedIn = connection;
    thread.modeOption = session.modes ? null : (modeOptionOf(session.configOptions)?.id ?? null);
    const modes = modesOf(session);
    if (modes) thread.live.changeHead({ modes });
  }

  async function cancel(thread: Thread): Promise<void> {
    const { turn, sessionId, loadedIn } = thread;
    if (!turn || turn.cancelled) return;
    turn.cancelled = true;
    for (const settle of turn.waiting.values()) settle({ type: "cancelled" });
    if (!loadedIn || sessionId === null) return turn.abandon(new Error("cancelled"));
    // Repeat the cancel: an agent ignores one that arrives before it has started the prompt.
    for (let waitedMs = 0; waitedMs < CANCEL_TIMEOUT_MS && thread.turn === turn; waitedMs += CANCEL_INTERVAL_MS) {
      // A closed connection ends the turn anyway.
      await loadedIn.agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {});
      await Promise.race([turn.over, delay(CANCEL_INTERVAL_MS)]);
    }
    if (thread.turn !== turn) return;
    // The agent ignores the cancel, so kill it. The next prompt starts it again.
    turn.abandon(new Error("cancelled"));
    loadedIn.kill();
  }

  async function ask(thread: Thread, { toolCall, options }: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    const { turn, live } = thread;
    const tool = live.tool(toolCall);
    const choices = options.slice(0, 20).map(({ optionId, name, kind }) => ({ id: optionId, name, kind }));
    if (!turn || turn.cancelled) return { outcome: { outcome: "cancelled" } };
    const decided = decide(turn.permissions, choices);
    const item = live.add({
      kind: "permission",
      toolItemId: tool.id,
      title: tool.title,
      options: choices,
      outcome: decided ? { type: "selected", optionId: decided.id } : null,
    });
    if (decided) return { outcome: { outcome: "selected", optionId: decided.id } };
    const outcome = await new Promise<PermissionItem["outcome"]>((resolve) => turn.waiting.set(item.id, resolve));
    turn.waiting.delete(item.id);
    live.replace({ ...item, outcome } as ConversationItem);
    return { outcome: outcome?.type === "selected" ? { outcome: "selected", optionId: outcome.optionId } : { outcome: "cancelled" } };
  }

  function answer(thread: Thread, itemId: string, optionId: string): void {
    const item = thread.live.items.get(itemId);
    const settle = thread.turn?.waiting.get(itemId);
    if (item?.kind !== "permission" || !settle) throw new AppError("agent_answered");
    if (!item.options.some((option) => option.id === optionId)) throw badRequest("optionId is not one of the options");
    settle({ type: "selected", optionId });
  }

  async function setMode(thread: Thread, modeId: string): Promise<void> {
    if (!thread.live.head.modes?.available.some((mode) => mode.id === modeId)) throw badRequest("There is no such mode");
    const connection = await runner.connect();
    await openSession(thread, connection);
    const { sessionId, modeOption: configId } = thread;
    if (configId === null) await connection.agent.request(methods.agent.session.setMode, { sessionId: sessionId ?? "", modeId });
    else await connection.agent.request(methods.agent.session.setConfigOption, { sessionId: sessionId ?? "", configId, value: modeId });
    if (thread.live.head.modes) thread.live.changeHead({ modes: { ...thread.live.head.modes, current: modeId } });
  }

  // Prefers the agent's own message. Error codes mean nothing to the user.
  function explain(error: unknown): string {
    if (!(error instanceof RequestError)) return messageOf(error);
    if (error.code === AUTH_REQUIRED) {
      const message = `The agent requires a sign-in: ${error.message}`;
      runner.markUnconfigured(message);
      return message;
    }
    const detail = error.data;
    return typeof detail === "string"
      ? detail
      : typeof detail === "object" && detail !== null && "details" in detail
        ? String(detail.details)
        : // The SDK puts the name of the code first.
          error.message.replace(/^Internal error: /, "");
  }
}

function beforeTimeout<T>(answer: Promise<T>): Promise<T> {
  const seconds = OPEN_TIMEOUT_MS / 1000;
  return withTimeout(answer, OPEN_TIMEOUT_MS, () => new Error(`The agent did not open the conversation within ${seconds} seconds`));
}

// A lost connection usually means that the process has exited. The exit is reported a moment later with a better message.
async function rootCause(error: unknown, abandoned: Promise<never>): Promise<unknown> {
  if (error instanceof RequestError || isAppError(error)) return error;
  return await withTimeout(abandoned, EXIT_REPORT_MS, () => error as Error).catch((reason: unknown) => reason);
}

// Prefers the option for this one time over the permanent one.
function decide(permissions: Turn["permissions"], options: PermissionItem["options"]): PermissionItem["options"][number] | undefined {
  if (permissions === "ask") return undefined;
  return options.find(({ kind }) => kind === `${permissions}_once`) ?? options.find(({ kind }) => kind.startsWith(permissions));
}

// A cancelled or failed turn may leave tools that are still marked as running.
function settleTools(live: LiveConversation): void {
  for (const item of live.items.values()) {
    if (item.kind === "tool" && (item.status === "pending" || item.status === "running")) live.replace({ ...item, status: "failed" });
  }
}

function linkTo(workspace: string, path: string): ContentBlock {
  return { type: "resource_link", name: path, uri: pathToFileURL(join(workspace, path)).href };
}

const firstLine = (text: string) => (text.trim().split("\n")[0] ?? "").slice(0, 80) || "New conversation";
