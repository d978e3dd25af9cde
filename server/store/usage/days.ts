import { sql } from "kysely";
import type { SessionId } from "@berth/contract";
import { DAY } from "../../clock.ts";
import type { Db } from "../schema.ts";
import type { UsageDaysTable } from "../tables/usage-tables.ts";

// The usage of sessions, added up for each session and day.

// Days are those of UTC, named by their first millisecond.
export const dayOf = (ms: number): number => Math.floor(ms / DAY) * DAY;
export const nextDay = (day: number): number => day + DAY;

export interface UsageOwner {
  session_id: string;
  partner_id: string;
  external_user_id: string;
  template: string;
}

export const ownerOf = (session: { id: SessionId; partnerId: string; externalUserId: string; template: string }): UsageOwner => ({
  session_id: session.id,
  partner_id: session.partnerId,
  external_user_id: session.externalUserId,
  template: session.template,
});

export const TIMES = ["running_ms", "paused_ms", "hibernated_ms"] as const satisfies readonly (keyof UsageDaysTable)[];
export const SUMS = [
  ...TIMES,
  "cpu_ms",
  "memory_sum",
  "memory_samples",
  "disk_sum",
  "disk_samples",
  "egress_bytes",
  "ingress_bytes",
  "input_tokens",
  "output_tokens",
] as const satisfies readonly (keyof UsageDaysTable)[];
export const PEAKS = ["memory_peak", "disk_peak"] as const satisfies readonly (keyof UsageDaysTable)[];

export type Amounts = Record<(typeof SUMS)[number] | (typeof PEAKS)[number], number>;
export type DayUsage = UsageOwner & { day: number } & Partial<Amounts>;

const NOTHING = Object.fromEntries([...SUMS, ...PEAKS].map((name) => [name, 0])) as Amounts;
const ADDED = {
  ...Object.fromEntries(SUMS.map((name) => [name, sql`${sql.ref(`usage_days.${name}`)} + ${sql.ref(`excluded.${name}`)}`])),
  ...Object.fromEntries(PEAKS.map((name) => [name, larger(`usage_days.${name}`, `excluded.${name}`)])),
};
// Far fewer than the parameters that a statement may have.
const ROWS_PER_STATEMENT = 500;

// A session and day occurs at most once in `usage`.
export async function addUsage(tx: Db, usage: readonly DayUsage[]): Promise<void> {
  for (let at = 0; at < usage.length; at += ROWS_PER_STATEMENT)
    await tx
      .insertInto("usage_days")
      .values(usage.slice(at, at + ROWS_PER_STATEMENT).map((row) => ({ ...NOTHING, ...row })))
      .onConflict((conflict) => conflict.columns(["day", "partner_id", "session_id"]).doUpdateSet(ADDED))
      .execute();
}

// Both engines have their own name for the larger of two numbers.
function larger(one: string, other: string) {
  return sql`case when ${sql.ref(one)} > ${sql.ref(other)} then ${sql.ref(one)} else ${sql.ref(other)} end`;
}

// Removes up to `limit` rows of days before this one.
export async function purgeUsage(db: Db, beforeDay: number, limit: number): Promise<void> {
  const oldest = await db
    .selectFrom("usage_days")
    .select(["day", "partner_id", "session_id"])
    .where("day", "<", beforeDay)
    .orderBy("day")
    .orderBy("partner_id")
    .orderBy("session_id")
    .limit(limit)
    .execute();
  const last = oldest.at(-1);
  if (!last) return;
  await db
    .deleteFrom("usage_days")
    .where(sql<boolean>`(day, partner_id, session_id) <= (${last.day}, ${last.partner_id}, ${last.session_id})`)
    .execute();
}
