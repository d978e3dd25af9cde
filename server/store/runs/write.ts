import type { RunId, SessionId } from "@berth/contract";
import type { StartRun } from "@berth/contract/daemon/runs.ts";
import type { Engine } from "../engines/engine.ts";
import { prepare } from "../engines/prepared.ts";
import type { Db } from "../schema.ts";
import { parseSession } from "../sessions/parse-session.ts";
import type { Session } from "../sessions/session.ts";
import { isFinal, parseRun, type Pending, type RunDetails, type RunSummary, type StoredRun } from "./run.ts";

// A transaction that writes runs takes this lock first, so that it and the end of the session come one after the other. null: the row is
// gone.
export async function lockSession(tx: Db, engine: Engine, id: string): Promise<Session | null> {
  const select = tx
    .selectFrom("sessions")
    .selectAll()
    .where("id", "=", id as SessionId);
  const row = await (engine === "postgres" ? select.forUpdate() : select).executeTakeFirst();
  return row ? parseSession(row) : null;
}

export interface NewRun {
  id: RunId;
  partnerId: string;
  sessionId: string;
  externalUserId: string;
  request: StartRun;
  nowMs: number;
}

const MAX_PROMPT = 2000;

export async function insertRun(tx: Db, { id, request, nowMs, ...owner }: NewRun): Promise<StoredRun> {
  const row = await tx
    .insertInto("runs")
    .values({
      id,
      partner_id: owner.partnerId,
      session_id: owner.sessionId,
      external_user_id: owner.externalUserId,
      status: "queued",
      revision: 0,
      pending: JSON.stringify({ start: request } satisfies Pending),
      summary: JSON.stringify(newSummary(request)),
      details: JSON.stringify({ permissions: request.permissions ?? "ask", text: "", files: [], waitsFor: [] } satisfies RunDetails),
      created_at: nowMs,
      started_at: null,
      ended_at: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return parseRun(row);
}

const newSummary = (request: StartRun): RunSummary => ({
  conversationId: request.conversationId ?? null,
  reason: null,
  code: null,
  message: null,
  prompt: request.prompt.slice(0, MAX_PROMPT),
  mode: request.mode ?? null,
  model: request.model ?? null,
  maxTurns: request.maxTurns ?? null,
  maxTokens: request.maxTokens ?? null,
  timeoutMs: request.timeoutMs ?? null,
  fileCount: 0,
  turns: 0,
  tokens: null,
  cost: null,
  waitingMessages: 0,
});

// The part of a run that changes.
export type RunChange = Pick<StoredRun, "status" | "revision" | "startedAtMs" | "endedAtMs" | "summary" | "details">;

// A change that the daemon reports, so it knows the run. Only if the run is not over and the change is newer than what the row has. null:
// nothing happened.
export async function updateRun(tx: Db, { id, sessionId }: Pick<StoredRun, "id" | "sessionId">, change: RunChange) {
  const row = await tx
    .updateTable("runs")
    .set({ ...columnsOf(change), revision: change.revision, pending: null })
    .where("id", "=", id)
    .where("session_id", "=", sessionId)
    .where("revision", "<", change.revision)
    .where("ended_at", "is", null)
    .returningAll()
    .executeTakeFirst();
  return row ? parseRun(row) : null;
}

export interface RunEnd extends Pick<RunSummary, "reason" | "code" | "message"> {
  status: "failed" | "interrupted" | "lost";
  // News of it for the daemon.
  pending: "interrupt" | null;
  nowMs: number;
}

// An end that the server decides. null: the run was over.
export async function endRun(tx: Db, run: StoredRun, { status, pending, nowMs, ...why }: RunEnd): Promise<StoredRun | null> {
  const summary = { ...run.summary, ...why, waitingMessages: 0 };
  const details = { ...run.details, waitsFor: [] };
  const row = await tx
    .updateTable("runs")
    .set({
      ...columnsOf({ ...run, status, summary, details, endedAtMs: nowMs }),
      pending: pending && JSON.stringify(pending satisfies Pending),
    })
    .where("id", "=", run.id)
    .where("ended_at", "is", null)
    .returningAll()
    .executeTakeFirst();
  return row ? parseRun(row) : null;
}

const columnsOf = ({ status, summary, details, startedAtMs, endedAtMs }: Omit<RunChange, "revision">) => ({
  status,
  summary: JSON.stringify(summary),
  details: JSON.stringify(details),
  started_at: startedAtMs,
  ended_at: isFinal(status) ? endedAtMs : null,
});

// `undelivered`: only those of which the daemon does not know.
export async function unfinishedRuns(tx: Db, sessionId: string, which: "all" | "undelivered"): Promise<StoredRun[]> {
  return (await unfinished(tx, { sessionId, isUndelivered: which === "undelivered" })).map(parseRun);
}

const unfinished = prepare((tx, { sessionId, isUndelivered }: { sessionId: string; isUndelivered: boolean }) => {
  const select = tx.selectFrom("runs").selectAll().where("session_id", "=", sessionId).where("ended_at", "is", null);
  return (isUndelivered ? select.where("pending", "is not", null) : select).orderBy("created_at").orderBy("id");
});

// The daemon knows it. False: something else is pending now.
export async function clearPending(db: Db, id: RunId, pending: Pending): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("runs")
    .set({ pending: null })
    .where("id", "=", id)
    .where("pending", "=", JSON.stringify(pending))
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

// Returns how many it removed.
export async function purgeRuns(db: Db, endedBeforeMs: number, limit: number): Promise<number> {
  const old = db.selectFrom("runs").select("id").where("ended_at", "<", endedBeforeMs).limit(limit);
  const { numDeletedRows } = await db.deleteFrom("runs").where("id", "in", old).executeTakeFirst();
  return Number(numDeletedRows);
}
