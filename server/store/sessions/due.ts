import type { Db } from "../schema.ts";
import { prepareSessionsIn, sessionsAt } from "./read.ts";
import type { Site, Session } from "./session.ts";

// Sessions for which a timer is due, oldest first. One index answers each query, so that a tick over 100,000 rows with
// nothing due is cheap. Every server asks every second, so they are prepared. `warned` and `hibernated in (0, 1)` are there for the index.

const BATCH = 100;

export type RunningSession = Extract<Session, { state: "running" }>;
type PausedSession = Extract<Session, { state: "paused" }>;

export const sessionsTimedOut = (db: Db, site: Site, nowMs: number): Promise<RunningSession[]> => timedOut(db, site, { nowMs });

const timedOut = prepareSessionsIn("running", (rows, { nowMs }: { nowMs: number }) =>
  rows.where("expires_at", "<=", nowMs).orderBy("expires_at").limit(BATCH),
);

// Running sessions that expire before `untilMs` and whose partner has not been warned.
export const sessionsToWarn = (db: Db, site: Site, { nowMs, untilMs }: { nowMs: number; untilMs: number }): Promise<RunningSession[]> =>
  toWarn(db, site, { nowMs, untilMs });

const toWarn = prepareSessionsIn("running", (rows, { nowMs, untilMs }: { nowMs: number; untilMs: number }) =>
  rows.where("warned", "=", 0).where("expires_at", ">", nowMs).where("expires_at", "<=", untilMs).orderBy("expires_at").limit(BATCH),
);

export const sessionsToHibernate = (db: Db, site: Site, pausedBeforeMs: number): Promise<PausedSession[]> =>
  toHibernate(db, site, { pausedBeforeMs });

const toHibernate = prepareSessionsIn("paused", (rows, { pausedBeforeMs }: { pausedBeforeMs: number }) =>
  rows.where("hibernated", "=", 0).where("paused_at", "<=", pausedBeforeMs).orderBy("paused_at").limit(BATCH),
);

export async function countPausedTooLong(db: Db, site: Site, pausedBeforeMs: number): Promise<number> {
  const { count } = await sessionsAt(db, site)
    .clearSelect()
    .select(({ fn }) => fn.countAll().as("count"))
    .where("state", "=", "paused")
    .where("paused_at", "<=", pausedBeforeMs)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export const sessionsPausedTooLong = (db: Db, site: Site, pausedBeforeMs: number): Promise<PausedSession[]> =>
  pausedTooLong(db, site, { pausedBeforeMs });

// The rows have no order: the index could not give one for both values of `hibernated`.
const pausedTooLong = prepareSessionsIn("paused", (rows, { pausedBeforeMs }: { pausedBeforeMs: number }) =>
  rows.where("hibernated", "in", [0, 1]).where("paused_at", "<=", pausedBeforeMs).limit(BATCH),
);

// Running sessions whose setup has not ended.
export const sessionsToSetUp = (db: Db, site: Site): Promise<RunningSession[]> => toSetUp(db, site, {});

const toSetUp = prepareSessionsIn("running", (rows) => rows.where("setup_state", "is not", null).limit(BATCH));
