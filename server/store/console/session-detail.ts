import type { SessionId } from "@berth/contract";
import { DAY, SECOND } from "../../clock.ts";
import type { Db } from "../schema.ts";
import type { SessionRow } from "../sessions/parse-session.ts";
import { ownedRows } from "./session-list.ts";
import { dayOf, PEAKS, SUMS, type Amounts } from "../usage/days.ts";

// null: there is no such session, or it is another partner's.
export async function findSessionRow(db: Db, partnerId: string | null, id: string): Promise<SessionRow | null> {
  const found = ownedRows(db, partnerId)
    .selectAll()
    .where("id", "=", id as SessionId);
  return (await found.executeTakeFirst()) ?? null;
}

export interface TimelineEvent {
  id: string;
  type: string;
  at: number;
  data: Record<string, unknown>;
}

// Newest first.
export async function eventsOfSession(db: Db, sessionId: string, limit: number): Promise<TimelineEvent[]> {
  const rows = await db
    .selectFrom("events")
    .select(["id", "type", "at", "data"])
    .where("session_id", "=", sessionId)
    .orderBy("seq", "desc")
    .limit(limit)
    .execute();
  return rows.map((row) => ({ ...row, data: JSON.parse(row.data) as Record<string, unknown> }));
}

const DAYS = 31;

// The usage of one session in the last month, with the time that its row has not counted yet.
export async function readSessionUsage(db: Db, session: SessionRow, nowMs: number) {
  const days = Array.from({ length: DAYS }, (_, i) => dayOf(nowMs) - i * DAY);
  const row = await db
    .selectFrom("usage_days")
    .select(({ fn }) => [...SUMS.map((name) => fn.sum(name).as(name)), ...PEAKS.map((name) => fn.max(name).as(name))])
    .where("day", "in", days)
    .where("partner_id", "=", session.partner_id)
    .where("session_id", "=", session.id)
    .executeTakeFirstOrThrow();
  const sum = (name: keyof Amounts) => Number(row[name] ?? 0);
  const uncountedMs = session.counted_from === null ? 0 : Math.max(0, nowMs - session.counted_from);
  const kind = session.paused_at === null ? "running" : session.hibernated === 1 ? "hibernated" : "paused";
  const secondsOf = (name: typeof kind) => (sum(`${name}_ms`) + (kind === name ? uncountedMs : 0)) / SECOND;
  return {
    runningSeconds: secondsOf("running"),
    pausedSeconds: secondsOf("paused"),
    hibernatedSeconds: secondsOf("hibernated"),
    cpuSeconds: sum("cpu_ms") / SECOND,
    memoryPeakBytes: sum("memory_peak"),
    memoryMeanBytes: sum("memory_samples") === 0 ? 0 : Math.round(sum("memory_sum") / sum("memory_samples")),
    diskPeakBytes: sum("disk_peak"),
    egressBytes: sum("egress_bytes"),
    ingressBytes: sum("ingress_bytes"),
    inputTokens: sum("input_tokens"),
    outputTokens: sum("output_tokens"),
  };
}
