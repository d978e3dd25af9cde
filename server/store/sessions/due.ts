import type { Db } from "../schema.ts";
import type { Home, SessionRow } from "./sessions.ts";

// What is due, oldest first. Each of these is answered by one index, so that a tick over 100,000 rows with nothing due
// costs next to nothing. `warned in (0, 1)` and `hibernated in (0, 1)` are there for the index.

export function timedOut(db: Db, home: Home, nowMs: number, limit: number): Promise<SessionRow[]> {
  return atHome(db, home, limit).where("state", "=", "running").where("expires_at", "<=", nowMs).orderBy("expires_at").execute();
}

export function toWarn(db: Db, home: Home, nowMs: number, untilMs: number, limit: number): Promise<SessionRow[]> {
  return atHome(db, home, limit)
    .where("state", "=", "running")
    .where("warned", "=", 0)
    .where("expires_at", ">", nowMs)
    .where("expires_at", "<=", untilMs)
    .orderBy("expires_at")
    .execute();
}

export function toHibernate(db: Db, home: Home, pausedBeforeMs: number, limit: number): Promise<SessionRow[]> {
  return atHome(db, home, limit)
    .where("state", "=", "paused")
    .where("hibernated", "=", 0)
    .where("paused_at", "<=", pausedBeforeMs)
    .orderBy("paused_at")
    .execute();
}

export function pausedTooLong(db: Db, home: Home, pausedBeforeMs: number, limit: number): Promise<SessionRow[]> {
  return atHome(db, home, limit)
    .where("state", "=", "paused")
    .where("hibernated", "in", [0, 1])
    .where("paused_at", "<=", pausedBeforeMs)
    .execute();
}

export async function purgeTombstones(db: Db, destroyedBeforeMs: number, limit: number): Promise<void> {
  const old = db
    .selectFrom("sessions")
    .select("id")
    .where("state", "=", "destroyed")
    .where("destroyed_at", "<=", destroyedBeforeMs)
    .limit(limit);
  await db.deleteFrom("sessions").where("id", "in", old).execute();
}

export async function purgeIdempotency(db: Db, nowMs: number, limit: number): Promise<void> {
  const old = db.selectFrom("idempotency").select("scope").where("expires_at", "<=", nowMs).limit(limit);
  await db.deleteFrom("idempotency").where("expires_at", "<=", nowMs).where("scope", "in", old).execute();
}

function atHome(db: Db, home: Home, limit: number) {
  return db
    .selectFrom("sessions")
    .selectAll()
    .where("driver", "=", home.driver)
    .where("host", home.host === null ? "is" : "=", home.host)
    .limit(limit);
}
