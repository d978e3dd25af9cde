import { sql } from "kysely";
import type { SessionId } from "@berth/contract";
import { MINUTE } from "../../clock.ts";
import type { Engine } from "../open.ts";
import type { Db } from "../schema.ts";
import { prepareSessionsIn, sessionsIn } from "./read.ts";
import type { Site, Session } from "./session.ts";

// The idle timeout of sessions. `idle_at` is the time of the last recorded activity plus the timeout, and `idle_look_at` is when a
// server next looks whether the session is idle: first before people are warned, then at `idle_at`.

export type RunningSession = Extract<Session, { state: "running" }>;

export interface IdleTimes {
  idleAtMs: number | null;
  idleLookAtMs: number | null;
}

const NO_IDLE_TIMES: IdleTimes = { idleAtMs: null, idleLookAtMs: null };

// A session that does not run has no time at which it ends.
export const NO_TIMES = { ...NO_IDLE_TIMES, expiresAtMs: null, extendUntilMs: null };

const MAX_WARNING_MS = 5 * MINUTE;

// People are warned this long before their session is paused because it is idle.
export const idleWarningMs = (idleTimeoutMs: number): number => Math.min(MAX_WARNING_MS, Math.floor(idleTimeoutMs / 2));

// The times of a session that was last active at `activeAtMs`.
export function idleTimes(idleTimeoutMs: number | null, activeAtMs: number): IdleTimes {
  if (idleTimeoutMs === null) return NO_IDLE_TIMES;
  const idleAtMs = activeAtMs + idleTimeoutMs;
  return { idleAtMs, idleLookAtMs: idleAtMs - idleWarningMs(idleTimeoutMs) };
}

// The same as columns, by the idle timeout that the row has.
export function idleColumns(activeAtMs: number) {
  const idleAt = sql<number>`idle_timeout_ms + cast(${activeAtMs} as bigint)`;
  // The same rule as `idleWarningMs`.
  const warning = sql<number>`case when idle_timeout_ms < ${2 * MAX_WARNING_MS} then idle_timeout_ms / 2 else ${MAX_WARNING_MS} end`;
  return { idle_at: idleAt, idle_look_at: sql<number>`${idleAt} - (${warning})` };
}

// The trigger `active` of sessions/states/states.ts, for a session that was not read before. No-op if the session does not run, has no
// idle timeout, or was active later.
export async function recordActivity(db: Db, id: SessionId, activeAtMs: number): Promise<void> {
  const columns = idleColumns(activeAtMs);
  await db
    .updateTable("sessions")
    .set(columns)
    .where("id", "=", id)
    .where("state", "=", "running")
    .where("idle_at", "<", columns.idle_at)
    .execute();
}

// The next look is at the end of the idle timeout. No-op if the session was active since it was read.
export async function lookAgainAtEnd(db: Db, { id, idleAtMs }: Pick<RunningSession, "id" | "idleAtMs">): Promise<void> {
  await db.updateTable("sessions").set({ idle_look_at: idleAtMs }).where("id", "=", id).where("idle_at", "=", idleAtMs).execute();
}

const BATCH = 100;

// Sessions whose time for a look has come, oldest first.
export const sessionsToLookAt = (db: Db, site: Site, nowMs: number): Promise<RunningSession[]> => toLookAt(db, site, { nowMs });

const toLookAt = prepareSessionsIn("running", (rows, { nowMs }: { nowMs: number }) =>
  rows.where("idle_look_at", "<=", nowMs).orderBy("idle_look_at").limit(BATCH),
);

// Running sessions of these templates that have an idle timeout.
export const sessionsWithIdleTimeout = (db: Db, site: Site, templates: readonly string[]): Promise<RunningSession[]> =>
  sessionsIn(db, site, "running", (rows) => rows.where("idle_look_at", "is not", null).where("template", "in", templates));

// False if activity was recorded since the session was read. Locks the row, so that none is recorded before the transaction ends.
export async function isStillIdle(tx: Db, engine: Engine, { id, idleAtMs }: Pick<RunningSession, "id" | "idleAtMs">): Promise<boolean> {
  const query = tx.selectFrom("sessions").select("idle_at").where("id", "=", id);
  const row = await (engine === "postgres" ? query.forUpdate() : query).executeTakeFirst();
  return row?.idle_at === idleAtMs;
}
