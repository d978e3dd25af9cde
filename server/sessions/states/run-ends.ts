import type { EventType } from "@berth/contract";
import { appendEvent } from "../../store/events.ts";
import type { RunDetails, StoredRun } from "../../store/runs/run.ts";
import { endRun, unfinishedRuns, type RunEnd } from "../../store/runs/write.ts";
import type { Db } from "../../store/schema.ts";
import type { PartnerSession } from "../../store/sessions/session.ts";
import { commonEventData } from "./event-data.ts";

export interface RunNotice {
  type: Extract<EventType, `run.${string}`>;
  run: StoredRun;
  at: number;
  // Of a notice that may come again.
  id?: string;
}

export async function appendRunEvent(tx: Db, session: PartnerSession, { type, run, at, id }: RunNotice): Promise<void> {
  await appendEvent(tx, {
    ...(id !== undefined && { id }),
    partnerId: session.partnerId,
    sessionId: session.id,
    type,
    at,
    data: { ...commonEventData(session), ...eventData(run) },
  });
}

// Events are kept in the store and sent to webhooks, so a question of several KiB is shortened.
const MAX_QUESTIONS = 5;
const MAX_INPUT = 1000;

function eventData({ id, status, summary, details, startedAtMs, endedAtMs }: StoredRun) {
  const { reason, code, message, conversationId, tokens, fileCount } = summary;
  const waitsFor = details.waitsFor.slice(0, MAX_QUESTIONS).map(shorten);
  const durationMs = startedAtMs === null || endedAtMs === null ? null : endedAtMs - startedAtMs;
  return { runId: id, runStatus: status, reason, code, message, conversationId, waitsFor, tokens, durationMs, fileCount };
}

// The fields of a form are in the run.
function shorten(question: RunDetails["waitsFor"][number]): object {
  const { itemId, kind, title } = question;
  if (kind === "form") return { itemId, kind, title };
  if (kind === "url" || question.tool.input === undefined) return question;
  return { ...question, tool: { ...question.tool, input: question.tool.input.slice(0, MAX_INPUT) } };
}

// Ends a run that is not over, with its event.
export async function endRunIn(tx: Db, session: PartnerSession, run: StoredRun, end: RunEnd): Promise<StoredRun | null> {
  const ended = await endRun(tx, run, end);
  if (ended) await appendRunEvent(tx, session, { type: "run.finished", run: ended, at: end.nowMs });
  return ended;
}

// Ends the runs that cannot go on after a transition of their session, in its transaction.
export async function endRunsOf(tx: Db, session: PartnerSession, cause: RunsEnd, nowMs: number): Promise<void> {
  const { which, ...end } = ENDS[cause];
  for (const run of await unfinishedRuns(tx, session.id, which)) await endRunIn(tx, session, run, { ...end, nowMs });
}

export type RunsEnd = keyof typeof ENDS;

const ENDS = {
  destroyed: {
    which: "all",
    status: "interrupted",
    reason: "session_ended",
    code: null,
    message: "The session was destroyed before the run was over.",
    pending: null,
  },
  // The sandbox may turn out to be alive, or the daemon may go on with runs that wait when it starts again.
  lost: {
    which: "all",
    status: "interrupted",
    reason: "session_ended",
    code: null,
    message: "The sandbox stopped by itself before the run was over.",
    pending: "interrupt",
  },
  source_failed: {
    which: "undelivered",
    status: "failed",
    reason: "error",
    code: "run_source_failed",
    message: "The source of the session could not be fetched, so the run did not begin.",
    pending: null,
  },
} as const satisfies Record<string, Omit<RunEnd, "nowMs"> & { which: "all" | "undelivered" }>;
