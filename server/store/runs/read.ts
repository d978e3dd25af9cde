import type { RunId } from "@berth/contract";
import type { RunStatus } from "@berth/contract/daemon/runs.ts";
import { prepare } from "../engines/prepared.ts";
import type { Db } from "../schema.ts";
import type { Site } from "../sessions/session.ts";
import { LIST_COLUMNS, parseListed, parseRun, type ListedRun, type Pending, type StoredRun } from "./run.ts";

export type FoundRun = StoredRun & { pending: Pending | null };

// Of this session only: another partner's id is not found.
export async function findRun(db: Db, sessionId: string, id: string): Promise<FoundRun | null> {
  const row = await db
    .selectFrom("runs")
    .selectAll()
    .where("id", "=", id as RunId)
    .where("session_id", "=", sessionId)
    .executeTakeFirst();
  return row ? { ...parseRun(row), pending: parsePending(row.pending) } : null;
}

export interface RunFilter {
  // Absent: of all partners.
  partnerId?: string;
  sessionId?: string;
  externalUserId?: string;
  status?: RunStatus;
  limit: number;
  after?: { createdAt: number; id: string };
}

// Newest first.
export async function listRuns(db: Db, { partnerId, sessionId, externalUserId, status, limit, after }: RunFilter): Promise<ListedRun[]> {
  let select = db.selectFrom("runs").select(LIST_COLUMNS).orderBy("created_at", "desc").orderBy("id", "desc").limit(limit);
  if (partnerId !== undefined) select = select.where("partner_id", "=", partnerId);
  if (sessionId !== undefined) select = select.where("session_id", "=", sessionId);
  if (externalUserId !== undefined) select = select.where("external_user_id", "=", externalUserId);
  if (status !== undefined) select = select.where("status", "=", status);
  if (after) {
    const { createdAt, id } = after;
    select = select
      .where("created_at", "<=", createdAt)
      .where((row) => row.or([row("created_at", "<", createdAt), row("id", "<", id as RunId)]));
  }
  return (await select.execute()).map(parseListed);
}

export async function countUnfinished(db: Db, sessionId: string): Promise<number> {
  const { count } = await db
    .selectFrom("runs")
    .select(({ fn }) => fn.countAll().as("count"))
    .where("session_id", "=", sessionId)
    .where("ended_at", "is", null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

// The runs of a session of which its daemon has to learn something, oldest first.
export async function pendingRunsOf(db: Db, sessionId: string): Promise<{ id: RunId; pending: Pending }[]> {
  const rows = await db
    .selectFrom("runs")
    .select(["id", "pending"])
    .where("session_id", "=", sessionId)
    .where("pending", "is not", null)
    .orderBy("created_at")
    .orderBy("id")
    .execute();
  return rows.map(({ id, pending }) => ({ id, pending: parsePending(pending)! }));
}

// The sessions of this site with such runs whose daemons can be reached.
export async function sessionsWithPendingRuns(db: Db, site: Site): Promise<string[]> {
  return (await withPendingRuns(db, { site })).map(({ id }) => id);
}

const SESSIONS_AT_ONCE = 100;

const withPendingRuns = prepare((db, { site: { driver, host } }: { site: Site }) =>
  db
    .selectFrom("runs")
    .innerJoin("sessions", "sessions.id", "runs.session_id")
    .select("sessions.id")
    .distinct()
    .where("runs.pending", "is not", null)
    .where("sessions.state", "=", "running")
    .where("sessions.setup_state", "is", null)
    .where("sessions.driver", "=", driver)
    .where("sessions.host", host === null ? "is" : "=", host)
    .limit(SESSIONS_AT_ONCE),
);

const parsePending = (json: string | null): Pending | null => (json === null ? null : (JSON.parse(json) as Pending));
