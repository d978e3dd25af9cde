import { sql } from "kysely";
import { prepare } from "../../engines/prepared.ts";
import type { Db } from "../../schema.ts";
import type { PoolKey } from "../read.ts";
import { SESSION_STATES, type Site, type SessionState } from "../session.ts";

// Sandboxes of this site that hold memory: all that run or may be frozen.
export function countSandboxes(db: Db, site: Site): Promise<number> {
  return countOf(sandboxesHoldingMemory(db, site));
}

// The same without the pool's blanks, which give way to a partner's session.
export function countPartnerSandboxes(db: Db, site: Site): Promise<number> {
  return countOf(sandboxesHoldingMemory(db, site).where("partner_id", "is not", null));
}

// The pool's blanks of one kind, also those that are still being created.
export async function countBlanks(db: Db, pool: PoolKey): Promise<number> {
  const [row] = await blanks(db, pool);
  return Number(row!.count);
}

const blanks = prepare((db, { template, templateHash, site }: PoolKey) =>
  db
    .selectFrom("sessions")
    .select(({ fn }) => fn.countAll().as("count"))
    .where("state", "in", ["warming", "warm"])
    .where("template", "=", template)
    .where("template_hash", "=", templateHash)
    .where(({ and }) => and({ ...site })),
);

export interface QuotaScope {
  partnerId: string;
  externalUserId?: string;
}

// Sessions that count against a quota: all that the list shows as running or paused, also those that are being destroyed.
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

export type CountedState = Exclude<SessionState, "destroyed"> | "hibernated";

// Sessions and blanks by state, also of states that none is in. A paused session without memory counts as hibernated only.
// Destroyed sessions are not counted, because the cost would grow with their number.
export async function countByState(db: Db): Promise<Map<CountedState, number>> {
  const rows = await db
    .selectFrom("sessions")
    .select(["state", "hibernated", ({ fn }) => fn.countAll().as("count")])
    .where("state", "in", EXISTING)
    .groupBy(["state", "hibernated"])
    .execute();
  const counts = new Map<CountedState, number>([...EXISTING, "hibernated" as const].map((state) => [state, 0]));
  for (const { state, hibernated, count } of rows) {
    const counted = (state === "paused" && hibernated === 1 ? "hibernated" : state) as CountedState;
    counts.set(counted, counts.get(counted)! + Number(count));
  }
  return counts;
}

export interface QuotaUse {
  partnerId: string;
  maxSessions: number;
  live: number;
}

// The sessions of every active partner that has a quota.
export async function readQuotaUse(db: Db): Promise<QuotaUse[]> {
  const rows = await db
    .selectFrom("partners")
    .select(({ selectFrom }) => [
      "id",
      "max_sessions",
      selectFrom("sessions")
        .select(({ fn }) => fn.countAll().as("count"))
        .whereRef("partner_id", "=", "partners.id")
        .where("sessions.state", "<>", sql.lit("destroyed"))
        .where("sessions.state", "in", LIVE)
        .as("live"),
    ])
    .where("max_sessions", "is not", null)
    .where("state", "=", "active")
    .execute();
  return rows.map(({ id, max_sessions, live }) => ({ partnerId: id, maxSessions: max_sessions!, live: Number(live) }));
}

// PostgreSQL lets two transactions count at once. All that count the sandboxes of one site wait here for each other, until
// their transaction ends.
export async function lockSite(db: Db, { driver, host }: Site): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext(${`berth sandboxes ${driver} ${host ?? ""}`}))`.execute(db);
}

const EXISTING = SESSION_STATES.filter((state): state is Exclude<SessionState, "destroyed"> => state !== "destroyed");
const HOLDING = SESSION_STATES.filter((state) => state !== "paused" && state !== "destroyed");
const LIVE: SessionState[] = ["creating", "running", "pausing", "thawing", "rebuilding", "paused", "hibernating", "resuming", "destroying"];

function sandboxesHoldingMemory(db: Db, site: Site) {
  return db
    .selectFrom("sessions")
    .select(({ fn }) => fn.countAll().as("count"))
    .where(({ and }) => and({ ...site }))
    .where((w) => w.or([w("state", "in", HOLDING), w.and([w("state", "=", "paused"), w("hibernated", "=", 0)])]));
}

const countOf = async (query: { executeTakeFirstOrThrow(): Promise<{ count: unknown }> }): Promise<number> =>
  Number((await query.executeTakeFirstOrThrow()).count);
