import { sql } from "kysely";
import type { Db } from "../schema.ts";
import { SESSION_STATES, statusOf } from "../sessions/session.ts";

export interface SessionCounts {
  running: number;
  paused: number;
  hibernated: number;
}

// The sessions of a partner, or of all partners, by what they are. Destroyed ones are not counted.
export async function countSessions(db: Db, partnerId: string | null): Promise<SessionCounts> {
  let query = db
    .selectFrom("sessions")
    .select(["state", "hibernated", ({ fn }) => fn.countAll().as("count")])
    // Word for word as in the index of live sessions, or the index would not be used.
    .where("state", "<>", sql.lit("destroyed"))
    .where("state", "in", EXISTING)
    .groupBy(["state", "hibernated"]);
  if (partnerId !== null) query = query.where("partner_id", "=", partnerId);
  const counts = { running: 0, paused: 0, hibernated: 0 };
  for (const { state, hibernated, count } of await query.execute()) {
    const status = statusOf({ state });
    if (status === null || status === "destroyed") continue;
    counts[status === "paused" && hibernated === 1 ? "hibernated" : status] += Number(count);
  }
  return counts;
}

const EXISTING = SESSION_STATES.filter((state) => state !== "destroyed");

// Bounds the cost.
const MAX_COUNTED = 10_000;

// How many sessions were created since then, at most MAX_COUNTED.
export async function countCreates(db: Db, partnerId: string | null, sinceMs: number): Promise<number> {
  let events = db.selectFrom("events").select("seq").where("at", ">=", sinceMs).where("type", "=", "session.created").limit(MAX_COUNTED);
  if (partnerId !== null) events = events.where("partner_id", "=", partnerId);
  const { count } = await db
    .selectFrom(events.as("created"))
    .select(({ fn }) => fn.countAll().as("count"))
    .executeTakeFirstOrThrow();
  return Number(count);
}

// The warm sandboxes of the pool, by template.
export async function countWarm(db: Db): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom("sessions")
    .select(["template", ({ fn }) => fn.countAll().as("count")])
    .where("state", "=", "warm")
    .groupBy("template")
    .execute();
  return new Map(rows.map(({ template, count }) => [template, Number(count)]));
}
