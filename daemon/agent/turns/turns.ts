import { setTimeout as delay } from "node:timers/promises";
import { methods, RequestError, type RequestPermissionRequest, type RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { ConversationItem, PermissionRule, Prompt, PromptRequest, StopReason } from "@berth/contract/agent.ts";
import { AppError, isAppError } from "@berth/contract/errors.ts";
import { withTimeout } from "../../io/with-timeout.ts";
import { type AgentSessions, AUTH_REQUIRED } from "../agent-sessions/agent-sessions.ts";
import type { Checkpoints } from "../checkpoints/checkpoints.ts";
import { messageOf } from "../program/connection.ts";
import type { LiveConversation } from "../conversations/conversation.ts";
import { newTurnModel } from "../model/turn-model.ts";
import type { ImageStore } from "../prompts/image-store.ts";
import { promptContent } from "../prompts/prompt-content.ts";
import { askPermission, rulesOf } from "./permissions.ts";
import { cancelQuestions } from "../questions/questions.ts";
import type { Runner } from "../program/runner.ts";
import { afterStop, type Thread, type Turn, type TurnRun } from "../thread.ts";
import { trackTurn } from "../turn-changes/turn-changes.ts";
import { showTurnEnd, type TurnEnd, turnEnd } from "./turn-end.ts";
import { watchTurnProcesses } from "../turn-processes.ts";

export interface Turns {
  // Begins at once, unless a turn is being cancelled. Resolves when the turn has ended.
  prompt(thread: Thread, prompt: Prompt, options?: TurnOptions): Promise<TurnEnd>;
  cancel(thread: Thread): Promise<void>;
  // Makes the agent end a turn that cannot succeed.
  interrupt(thread: Thread, turn: Turn): Promise<void>;
  ask(thread: Thread, request: RequestPermissionRequest): Promise<RequestPermissionResponse>;
  // Opens the agent's session before the first prompt, so that the agent says what it offers. A stopped agent stays stopped.
  prepare(thread: Thread): Promise<void>;
}

export type TurnOptions = { permissions?: PromptRequest["permissions"] } | { run: TurnRun };

export interface TurnsDeps {
  runner: Runner;
  sessions: AgentSessions;
  checkpoints: Checkpoints;
  images: ImageStore;
  // The agent's text as people may see it.
  clean: (text: string) => string;
  workspace: string;
  // The rules for all conversations.
  templateRules: () => PermissionRule[];
  // In which mode a new conversation begins. null: the agent decides.
  firstMode: () => string | null;
  // See ModelWatch.
  beginAnswers: (turn: Turn) => void;
  onTurnEnd: (thread: Thread, end: TurnEnd) => void;
}

const CANCEL_TIMEOUT_MS = 10_000;
const CANCEL_INTERVAL_MS = 500;
const EXIT_REPORT_MS = 1000;

export function createTurns(deps: TurnsDeps): Turns {
  const { runner, sessions, checkpoints, images, clean, workspace, templateRules, firstMode, beginAnswers, onTurnEnd } = deps;
  const inProgress = new Set<Turn>();
  return { prompt, cancel, interrupt, ask, prepare };

  function ask(thread: Thread, request: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    return askPermission(thread, request, { workspace, templateRules: templateRules() });
  }

  // Resolves when the turn has ended. Its items are published as they arrive.
  async function prompt(thread: Thread, given: Prompt, options: TurnOptions = {}): Promise<TurnEnd> {
    // Without a turn to wait for, the new one begins at once: callers rely on it.
    if (thread.turn?.cancelled) await afterStop(thread);
    if (thread.turn) throw new AppError("agent_busy");
    if (thread.live.full) throw new AppError("agent_conversation_full");
    const abandoned = Promise.withResolvers<never>();
    abandoned.promise.catch(() => {});
    const over = Promise.withResolvers<void>();
    const run = "run" in options ? options.run : null;
    const turn: Turn = {
      permissions: "run" in options ? options.run.permissions : (options.permissions ?? "ask"),
      run,
      cancelled: false,
      shared: false,
      model: newTurnModel(),
      processes: null,
      waiting: new Map(),
      changes: null,
      abandon: abandoned.reject,
      over: over.promise,
    };
    thread.turn = turn;
    inProgress.add(turn);
    if (inProgress.size > 1) for (const each of inProgress) each.shared = true;
    const { live } = thread;
    thread.draft = null;
    if (![...live.items.values()].some((item) => item.kind === "user")) live.head.title = firstLine(given.text);
    const said = live.add({ kind: "user", ...given });
    live.changeHead({ busy: true, rules: rulesOf(turn, templateRules()) });

    let outcome: StopReason | Error;
    let isAbandoned = false;
    try {
      outcome = await Promise.race([runTurn(thread, turn, given, said), abandoned.promise]);
    } catch (error) {
      outcome = toError(await rootCause(error, abandoned.promise));
      isAbandoned = await isRejected(abandoned.promise);
    }
    // The agent has not ended the turn itself, so it may have left commands behind.
    if (turn.cancelled || isAbandoned) await turn.processes?.end();
    inProgress.delete(turn);
    const end = turnEnd(turn, outcome, explain);
    showTurnEnd(live, turn, end);
    cancelQuestions(turn);
    settleTools(live);
    live.endText();
    await turn.changes?.finish();
    thread.turn = null;
    over.resolve();
    live.changeHead({ busy: false, modelWait: null, rules: templateRules() });
    onTurnEnd(thread, end);
    return end;
  }

  async function runTurn(thread: Thread, turn: Turn, given: Prompt, said: ConversationItem): Promise<StopReason> {
    const [connection] = await Promise.all([openSession(thread), saveFiles(thread.live, turn, said)]);
    // The turn was cancelled or abandoned while the agent was starting.
    if (turn.cancelled || thread.turn !== turn) return "cancelled";
    await turn.run?.prepare(connection);
    if (turn.cancelled || thread.turn !== turn) return "cancelled";
    const capabilities = connection.about.agentCapabilities?.promptCapabilities ?? {};
    const content = await promptContent(given, { workspace, images, capabilities, note: thread.note });
    thread.note = null;
    thread.prompted = true;
    const { pid: agentPid, mark } = connection;
    const sessionId = thread.sessionId ?? "";
    turn.processes = watchTurnProcesses({ agentPid, mark, sessionId, isShared: () => turn.shared });
    const response = await connection.agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: content,
    });
    return response.stopReason;
  }

  async function openSession(thread: Thread) {
    const connection = await runner.connect();
    const isNew = thread.sessionId === null;
    await sessions.open(thread, connection);
    const mode = firstMode();
    const isOffered = thread.live.head.modes?.available.some(({ id }) => id === mode);
    if (isNew && mode !== null && isOffered) await sessions.setMode(thread, connection, mode);
    return connection;
  }

  async function saveFiles(live: LiveConversation, turn: Turn, said: ConversationItem): Promise<void> {
    const checkpoint = await checkpoints.take();
    live.replace({ ...said, checkpoint } as ConversationItem);
    if (checkpoint.id === null) return;
    turn.changes = trackTurn({ checkpoints, live, promptId: said.id, before: checkpoint.id, isShared: () => turn.shared });
  }

  async function prepare(thread: Thread): Promise<void> {
    if (runner.state.status !== "ready" && runner.state.status !== "starting") return;
    // The first checkpoint reads every file. The next ones, before the prompts, only those that have changed.
    void checkpoints.take();
    try {
      await openSession(thread);
    } catch (error) {
      // The first prompt reports other errors.
      explain(error);
    }
  }

  async function cancel(thread: Thread): Promise<void> {
    const { turn } = thread;
    if (!turn || turn.cancelled) return;
    turn.cancelled = true;
    turn.processes?.note();
    cancelQuestions(turn);
    await interrupt(thread, turn);
  }

  async function interrupt(thread: Thread, turn: Turn): Promise<void> {
    const { sessionId, loadedIn } = thread;
    if (!loadedIn || sessionId === null) return turn.abandon(new Error("cancelled"));
    // Repeat the cancel: an agent ignores one that arrives before it has started the prompt.
    for (let waitedMs = 0; waitedMs < CANCEL_TIMEOUT_MS && thread.turn === turn; waitedMs += CANCEL_INTERVAL_MS) {
      // A closed connection ends the turn anyway.
      await loadedIn.agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {});
      beginAnswers(turn);
      await Promise.race([turn.over, delay(CANCEL_INTERVAL_MS)]);
      // Some agents wait for the command that they run.
      if (thread.turn === turn && turn.cancelled) await turn.processes?.end();
    }
    if (thread.turn !== turn) return;
    // The agent ignores the cancel, so kill it. The next prompt starts it again.
    turn.abandon(new Error("cancelled"));
    loadedIn.kill();
  }

  function explain(error: unknown): string {
    return clean(describe(error));
  }

  // Prefers the agent's own message. Error codes mean nothing to the user.
  function describe(error: unknown): string {
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

// A lost connection usually means that the process has exited. The exit is reported a moment later with a better message.
async function rootCause(error: unknown, abandoned: Promise<never>): Promise<unknown> {
  if (error instanceof RequestError || isAppError(error)) return error;
  return await withTimeout(abandoned, EXIT_REPORT_MS, () => error as Error).catch((reason: unknown) => reason);
}

const toError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));

async function isRejected(promise: Promise<never>): Promise<boolean> {
  return await Promise.race([promise, Promise.resolve(false)]).catch(() => true);
}

// A cancelled or failed turn may leave tools that are still marked as running.
export function settleTools(live: LiveConversation): void {
  for (const item of live.items.values()) {
    if (item.kind === "tool" && (item.status === "pending" || item.status === "running")) live.replace({ ...item, status: "failed" });
  }
}

const firstLine = (text: string) => (text.trim().split("\n")[0] ?? "").slice(0, 80) || "New conversation";
