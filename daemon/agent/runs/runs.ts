import type { AgentMessage, ConversationItem, Prompt } from "@berth/contract/agent.ts";
import type { Run } from "@berth/contract/daemon/runs.ts";
import { AppError } from "@berth/contract/errors.ts";
import type { Call } from "../../http/route.ts";
import { sendEvents } from "../../http/send-events.ts";
import type { AgentConnection } from "../program/connection.ts";
import type { Thread } from "../thread.ts";
import type { Turns } from "../turns/turns.ts";
import { createLiveRun, type LiveRun } from "./live-run.ts";
import { createRunLog, type RunLog } from "./run-log.ts";
import { hasEnded, type RunPrompt, type RunRecord } from "./run-record.ts";
import { runItems } from "./run-report.ts";
import type { RunStore } from "./run-store.ts";

// The runs of the session at work.
export interface Runs {
  // Throws if it cannot be accepted.
  start(record: RunRecord): void;
  describe(record: RunRecord): Run;
  addMessage(record: RunRecord, id: string, prompt: RunPrompt): void;
  interrupt(record: RunRecord): void;
  answer(record: RunRecord, itemId: string, answer: object): void;
  sendEvents(record: RunRecord, call: Call): Promise<void>;
  // The session runs again: begins the runs that wait.
  resume(): void;
  // The sandbox is about to stop.
  stop(): void;
}

export interface RunsDeps {
  store: RunStore;
  turns: Pick<Turns, "prompt" | "cancel">;
  thread: (id: string) => Thread;
  // A new conversation.
  create: () => Thread;
  answer: (conversationId: string, itemId: string, answer: object) => void;
  listen: (listener: (message: AgentMessage) => void) => void;
  readPrompt: (prompt: RunPrompt) => Promise<Prompt>;
  // Writes the conversations to disk.
  saveConversations: () => void;
  // See LiveRunDeps.
  prepare: (run: Run, thread: Thread, connection: AgentConnection) => Promise<string | null>;
}

const MAX_WORKING = 4;
const MAX_MESSAGES = 20;
const MAX_MESSAGE_IDS = 1000;
// A client that is disconnected at the end can still read the last events.
const LOG_KEPT_MS = 60_000;

export function createRuns(deps: RunsDeps): Runs {
  const { store, turns, thread: threadOf, create, answer, listen, readPrompt, saveConversations, prepare } = deps;
  const live = new Map<string, LiveRun>();
  const endedLogs = new Map<string, RunLog>();
  let isStopped = false;

  for (const record of store.list()) if (record.run.status === "queued") revive(record);
  listen((message) => {
    const id = message.type === "conversation" ? message.conversation.id : "conversationId" in message ? message.conversationId : null;
    for (const each of live.values()) if (each.thread?.live.head.id === id) each.onMessage(message);
    // A conversation may be free now. The messages of people that wait for it come first.
    if (message.type === "turn") setImmediate(schedule);
  });

  return {
    start(record) {
      if (record.run.conversationId !== null) threadOf(record.run.conversationId);
      store.add(record);
      revive(record);
      schedule();
    },
    describe,
    addMessage(record, id, prompt) {
      if (record.messageIds.includes(id)) return;
      const run = live.get(record.run.runId);
      if (!run || run.isStopping) throw new AppError("run_ended");
      if (record.waiting.length >= MAX_MESSAGES)
        throw new AppError("too_many", { message: `At most ${MAX_MESSAGES} messages can wait for a run` });
      record.messageIds = [...record.messageIds, id].slice(-MAX_MESSAGE_IDS);
      run.add(prompt);
    },
    interrupt: ({ run }) => live.get(run.runId)?.stop("requested", "The run was interrupted."),
    answer({ run }, itemId, given) {
      if (!run.waitsFor.some((question) => question.itemId === itemId) || run.conversationId === null) throw new AppError("agent_answered");
      answer(run.conversationId, itemId, given);
    },
    async sendEvents(record, { request, response }) {
      const lastId = request.headers["last-event-id"];
      const { runId } = record.run;
      const log = live.get(runId)?.log ?? endedLogs.get(runId) ?? logOfEnded(record.run);
      const source = log.read(typeof lastId === "string" ? lastId : undefined, () => ({
        items: { type: "items", items: itemsOf(record) },
        run: describe(record),
      }));
      if (!source) return void response.writeHead(204).end();
      await sendEvents(response, source);
    },
    resume() {
      isStopped = false;
      schedule();
    },
    stop() {
      isStopped = true;
      store.loseBegun();
      for (const run of live.values()) if (hasEnded(run.record.run)) forget(run);
    },
  };

  function revive(record: RunRecord): void {
    const run = createLiveRun({
      record,
      store,
      turns,
      readPrompt,
      saveConversations,
      prepare: (thread, connection) => prepare(record.run, thread, connection),
      onEnd(ended) {
        forget(ended);
        setImmediate(schedule);
      },
    });
    live.set(record.run.runId, run);
  }

  // In the order in which they were accepted, except for those whose conversation is busy.
  function schedule(): void {
    if (isStopped) return;
    for (const run of live.values()) {
      const working = [...live.values()].filter(({ thread }) => thread !== null);
      if (working.length >= MAX_WORKING) return;
      if (run.thread) continue;
      try {
        const { conversationId } = run.record.run;
        const thread = conversationId === null ? create() : threadOf(conversationId);
        if (!thread.turn && !working.some((other) => other.thread === thread)) run.begin(thread);
      } catch (error) {
        run.fail(error);
      }
    }
  }

  function forget({ record: { run }, log }: LiveRun): void {
    live.delete(run.runId);
    log.end(run);
    endedLogs.set(run.runId, log);
    setTimeout(() => endedLogs.delete(run.runId), LOG_KEPT_MS).unref();
  }

  function describe(record: RunRecord): Run {
    return live.get(record.run.runId)?.describe() ?? record.run;
  }

  function itemsOf({ run, promptIds }: RunRecord): ConversationItem[] {
    try {
      return run.conversationId === null ? [] : runItems(threadOf(run.conversationId), promptIds);
    } catch {
      // The conversation was deleted.
      return [];
    }
  }
}

function logOfEnded(run: Run): RunLog {
  const log = createRunLog();
  log.end(run);
  return log;
}
