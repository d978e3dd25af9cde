import type { Db } from "../schema.ts";
import { parseSessions } from "./parse-session.ts";
import { sessionsAt } from "./read.ts";
import type { Site, Session } from "./session.ts";

// Sessions for which a timer is due, oldest first. One index answers each query, so that a tick over 100,000 rows with
// nothing due is cheap. `warned` and `hibernated in (0, 1)` are there for the index.

export type RunningSession = Extract<Session, { state: "running" }>;
type PausedSession = Extract<Session, { state: "paused" }>;

export async function sessionsTimedOut(db: Db, site: Site, nowMs: number, limit: number): Promise<RunningSession[]> {
  const rows = await sessionsAt(db, site)
    .where("state", "=", "running")
    .where("expires_at", "<=", nowMs)
    .orderBy("expires_at")
    .limit(limit)
    .execute();
  return parseSessions(rows) as RunningSession[];
}

// Running sessions that expire before `untilMs` and whose partner has not been warned.
export async function sessionsToWarn(
  db: Db,
  site: Site,
  { nowMs, untilMs }: { nowMs: number; untilMs: number },
  limit: number,
): Promise<RunningSession[]> {
  const rows = await sessionsAt(db, site)
    .where("state", "=", "running")
    .where("warned", "=", 0)
    .where("expires_at", ">", nowMs)
    .where("expires_at", "<=", untilMs)
    .orderBy("expires_at")
    .limit(limit)
    .execute();
  return parseSessions(rows) as RunningSession[];
}

export async function sessionsToHibernate(db: Db, site: Site, pausedBeforeMs: number, limit: number): Promise<PausedSession[]> {
  const rows = await sessionsAt(db, site)
    .where("state", "=", "paused")
    .where("hibernated", "=", 0)
    .where("paused_at", "<=", pausedBeforeMs)
    .orderBy("paused_at")
    .limit(limit)
    .execute();
  return parseSessions(rows) as PausedSession[];
}

export async function countPausedTooLong(db: Db, site: Site, pausedBeforeMs: number): Promise<number> {
  const { count } = await sessionsAt(db, site)
    .clearSelect()
    .select(({ fn }) => fn.countAll().as("count"))
    .where("state", "=", "paused")
    .where("paused_at", "<=", pausedBeforeMs)
    .executeTakeFirstOrThrow();
  return Number(count);
}

// The rows have no order: the index could not give one for both values of `hibernated`.
export async function sessionsPausedTooLong(db: Db, site: Site, pausedBeforeMs: number, limit: number): Promise<PausedSession[]> {
  const rows = await sessionsAt(db, site)
    .where("state", "=", "paused")
    .where("hibernated", "in", [0, 1])
    .where("paused_at", "<=", pausedBeforeMs)
    .limit(limit)
    .execute();
  return parseSessions(rows) as PausedSession[];
}

// Running sessions whose setup has not ended.
export async function sessionsToSetUp(db: Db, site: Site, limit: number): Promise<RunningSession[]> {
  const rows = await sessionsAt(db, site).where("state", "=", "running").where("setup_state", "is not", null).limit(limit).execute();
  return parseSessions(rows) as RunningSession[];
}
