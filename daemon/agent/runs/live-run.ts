import type { AgentMessage, Prompt } from "@berth/contract/agent.ts";
import type { Run, RunReason } from "@berth/contract/daemon/runs.ts";
import { AppError } from "@berth/contract/errors.ts";
import { toAppError } from "../../http/errors.ts";
import { afterRunningTime } from "../../io/running-time.ts";
import type { AgentConnection } from "../program/connection.ts";
import type { Thread, TurnRun } from "../thread.ts";
import type { TurnEnd } from "../turns/turn-end.ts";
import type { Turns } from "../turns/turns.ts";
import { createBudget } from "./run-budget.ts";
import { createRunLog, type RunLog } from "./run-log.ts";
import { hasEnded, type RunPrompt, type RunRecord } from "./run-record.ts";
import { questionsOf, reportOf, runItems } from "./run-report.ts";
import type { RunStore } from "./run-store.ts";

// A run that has not ended. Its turns belong to the session: no connection begins or ends them.
export interface LiveRun {
  readonly record: RunRecord;
  readonly log: RunLog;
  readonly thread: Thread | null;
  begin(thread: Thread): void;
  // A further prompt, after the turn in progress.
  add(prompt: RunPrompt): void;
  // Ends the run. No-op if it is about to end.
  stop(reason: RunReason, message: string): void;
  fail(error: unknown): void;
  // The run as it is now.
  describe(): Run;
  // Passes on what happens in its conversation.
  onMessage(message: AgentMessage): void;
  readonly isStopping: boolean;
}

export interface LiveRunDeps {
  record: RunRecord;
  store: RunStore;
  turns: Pick<Turns, "prompt" | "cancel">;
  readPrompt: (prompt: RunPrompt) => Promise<Prompt>;
  // Chooses the mode and the model of the conversation. Returns the mode in which the agent must stay, if there is one.
  prepare: (thread: Thread, connection: AgentConnection) => Promise<string | null>;
  saveConversations: () => void;
  onEnd: (run: LiveRun) => void;
}

type End = Pick<Run, "status" | "reason" | "code" | "message">;

export function createLiveRun({ record, store, turns, readPrompt, prepare, saveConversations, onEnd }: LiveRunDeps): LiveRun {
  const { run } = record;
  const log = createRunLog();
  let thread: Thread | null = null;
  let stopping: End | null = null;
  let cancelTimeout = () => {};
  // The cost of the conversation before this run.
  let costBefore = 0;
  // The mode in which the agent asks, while a turn depends on it.
  let requiredMode: string | null = null;

  const turnRun: TurnRun = {
    permissions: run.permissions,
    ...createBudget({ run, onExceeded: stop }),
    async prepare(connection) {
      if (thread) requiredMode = await prepare(thread, connection);
    },
  };

  const live: LiveRun = {
    record,
    log,
    get thread() {
      return thread;
    },
    get isStopping() {
      return stopping !== null;
    },
    begin(given) {
      thread = given;
      costBefore = given.live.head.usage?.cost?.amount ?? 0;
      if (run.timeoutMs !== null) cancelTimeout = afterRunningTime(run.timeoutMs, stopForTime);
      change({ status: "running", conversationId: given.live.head.id, startedAt: new Date().toISOString() }, "run.started");
      void work(given).catch((error: unknown) => fail(error));
    },
    add(prompt) {
      record.waiting.push(prompt);
      run.waitingMessages = countMessages();
      store.save(record);
    },
    stop,
    fail,
    describe,
    onMessage,
  };
  return live;

  // One turn after the other, until no prompt is left. A person's turn in the same conversation may come between.
  async function work(own: Thread): Promise<void> {
    while (!hasEnded(run)) {
      const next = record.waiting[0];
      if (!next) return finish({ status: "succeeded", reason: null, code: null, message: null });
      const prompt = await readPrompt(next);
      while (own.turn) await own.turn.over;
      if (hasEnded(run)) return;
      record.waiting.shift();
      run.waitingMessages = countMessages();
      const end = await turns.prompt(own, prompt, { run: turnRun });
      requiredMode = null;
      const outcome = stopping ?? outcomeOf(end);
      if (outcome) return finish(outcome);
    }
  }

  function stop(reason: RunReason, message: string): void {
    stopWith({ status: "interrupted", reason, code: null, message });
  }

  function fail(error: unknown): void {
    const { code, message } = toAppError(error);
    stopWith({ status: "failed", reason: "error", code, message });
  }

  function stopWith(end: End): void {
    if (stopping || hasEnded(run)) return;
    if (thread?.turn?.run !== turnRun) return finish(end);
    stopping = end;
    // People who watch see more than that it was cancelled.
    if (end.reason !== "requested" && end.reason !== "person" && end.message !== null)
      thread.live.add({ kind: "notice", level: "info", text: end.message });
    void turns.cancel(thread);
  }

  function stopForTime(): void {
    const [question] = thread?.turn?.run === turnRun ? questionsOf(thread) : [];
    const waited = question ? ` It waited for an answer: ${question.title}` : "";
    stop("timeout", `The run has reached its time limit of ${Math.round((run.timeoutMs ?? 0) / 1000)} seconds.${waited}`);
  }

  function finish(end: End): void {
    if (hasEnded(run)) return;
    cancelTimeout();
    record.waiting = [];
    change({ ...end, waitsFor: [], waitingMessages: 0, endedAt: new Date().toISOString() }, "run.finished");
    onEnd(live);
  }

  function change(changed: Partial<Run>, news: Parameters<RunStore["change"]>[2]): void {
    describe();
    store.change(record, changed, news);
    if (!hasEnded(run)) log.add({ type: "run", run });
  }

  function describe(): Run {
    if (!thread || hasEnded(run)) return run;
    const { cost } = thread.live.head.usage ?? {};
    const spent = cost && { amount: Math.max(0, cost.amount - costBefore), currency: cost.currency };
    return Object.assign(run, reportOf(runItems(thread, record.promptIds)), { cost: spent ?? null });
  }

  // The first prompt is the run's own, and no message.
  function countMessages(): number {
    return record.waiting.length - (record.promptIds.length === 0 && run.startedAt === null ? 1 : 0);
  }

  function onMessage(message: AgentMessage): void {
    if (message.type === "deleted") return stop("person", "The conversation was deleted.");
    if (thread?.turn?.run !== turnRun) return;
    if (message.type === "append") log.add({ type: "append", itemId: message.itemId, text: message.text });
    if (message.type === "conversation") checkMode();
    if (message.type !== "item") return;
    const { item } = message;
    if (item.kind === "user" && !record.promptIds.includes(item.id)) {
      record.promptIds.push(item.id);
      // If the daemon is killed, the run is found in its conversation.
      saveConversations();
      store.save(record);
    }
    log.add({ type: "item", item });
    if (item.kind === "permission" || item.kind === "form" || item.kind === "url") noteQuestions(thread);
    // Restrictions that cannot be kept end the run.
    if (item.kind === "tool" && turnRun.hasLimits && run.turns === 0) fail(new AppError("run_limits_unsupported"));
  }

  function noteQuestions(own: Thread): void {
    const waitsFor = stopping ? [] : questionsOf(own);
    const isNew = waitsFor.some(({ itemId }) => !run.waitsFor.some((known) => known.itemId === itemId));
    if (isNew) return change({ status: "needs_input", waitsFor }, "run.needs_input");
    if (waitsFor.length === run.waitsFor.length) return;
    if (waitsFor.length > 0) change({ waitsFor }, null);
    else change({ status: "running", waitsFor }, "run.continued");
  }

  // A person or the agent itself can change the mode in the middle of a turn.
  function checkMode(): void {
    const current = thread?.live.head.modes?.current;
    if (requiredMode === null || current === requiredMode) return;
    fail(new AppError("run_never_asks", { message: `The agent has left the mode ${requiredMode}, in which it asks for permission.` }));
  }
}

// null if the run goes on. A turn that a person has stopped ends the run.
function outcomeOf({ stopReason, code, message }: TurnEnd): End | null {
  switch (stopReason) {
    case "end_turn":
      return null;
    case "cancelled":
      return { status: "interrupted", reason: "person", code: null, message: "A person has stopped the agent." };
    case "error":
      return { status: "failed", reason: "error", code: code ?? null, message: message ?? null };
    default:
      return { status: "failed", reason: "error", code: null, message: STOPPED[stopReason] };
  }
}

const STOPPED = {
  max_tokens: "The model's answer was longer than the agent allows.",
  max_turn_requests: "The agent has reached its own limit of requests to the model.",
  refusal: "The model refuses to go on.",
};
