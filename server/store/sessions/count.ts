import { sql } from "kysely";
import type { Db } from "../schema.ts";
import type { PoolKey } from "./read.ts";
import { SESSION_STATES, type Home, type SessionState } from "./session.ts";

// Sandboxes of this home that hold memory: all that run or may be frozen.
export function countSandboxes(db: Db, home: Home): Promise<number> {
  return countOf(sandboxesHoldingMemory(db, home));
}

// The same without the pool's blanks, which give way to a partner's session.
export function countPartnerSandboxes(db: Db, home: Home): Promise<number> {
  return countOf(sandboxesHoldingMemory(db, home).where("partner_id", "is not", null));
}

// The pool's blanks of one kind, also those that are still being created.
export function countBlanks(db: Db, { template, templateHash, home }: PoolKey): Promise<number> {
  return countOf(
    db
      .selectFrom("sessions")
      .select(({ fn }) => fn.countAll().as("count"))
      .where("state", "in", ["warming", "warm"])
      .where("template", "=", template)
      .where("template_hash", "=", templateHash)
      .where("driver", "=", home.driver)
      .where("host", home.host === null ? "is" : "=", home.host),
  );
}

export interface QuotaScope {
  partnerId: string;
  externalUserId?: string;
}

// Sessions that count against a quota: all that a partner has, except those on their way out.
export function countLive(db: Db, { partnerId, externalUserId }: QuotaScope): Promise<number> {
  const live = db
    .selectFrom("sessions")
    .select(({ fn }) => fn.countAll().as("count"))
    .where("partner_id", "=", partnerId)
    // Word for word as in the index of live sessions, or the index would not be used.
    .where("state", "<>", sql.lit("destroyed"))
    .where("state", "in", LIVE);
  return countOf(externalUserId === undefined ? live : live.where("external_user_id", "=", externalUserId));
}

export async function countByState(db: Db): Promise<Map<SessionState, number>> {
  const rows = await db
    .selectFrom("sessions")
    .select(["state", ({ fn }) => fn.countAll().as("count")])
    .groupBy("state")
    .execute();
  return new Map(rows.map(({ state, count }) => [state, Number(count)]));
}

// PostgreSQL lets two transactions count at once. All that count the sandboxes of one home wait here for each other, until
// their transaction ends.
export async function lockHome(db: Db, { driver, host }: Home): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext(${`berth sandboxes ${driver} ${host ?? ""}`}))`.execute(db);
}

const HOLDING = SESSION_STATES.filter((state) => state !== "paused" && state !== "destroyed");
const LIVE: SessionState[] = ["creating", "running", "pausing", "thawing", "paused", "hibernating", "resuming"];

function sandboxesHoldingMemory(db: Db, home: Home) {
  return db
    .selectFrom("sessions")
    .select(({ fn }) => fn.countAll().as("count"))
    .where("driver", "=", home.driver)
    .where("host", home.host === null ? "is" : "=", home.host)
    .where((w) => w.or([w("state", "in", HOLDING), w.and([w("state", "=", "paused"), w("hibernated", "=", 0)])]));
}

const countOf = async (query: { executeTakeFirstOrThrow(): Promise<{ count: unknown }> }): Promise<number> =>
  Number((await query.executeTakeFirstOrThrow()).count);
