import type { Db } from "../schema.ts";
import { isPartnerSession, STATUSES, type PartnerSession, type Session, type SessionState } from "../sessions/session.ts";
import { addUsage, dayOf, nextDay, ownerOf, type DayUsage } from "./days.ts";

// The time that a session spends running, paused and hibernated. The row says since when the current kind counts, and the transition
// that ends it adds the time to the session's days in the same transaction. So the sum is exact whenever a server dies, and it
// equals the time between the events.
export type TimeKind = "running" | "paused" | "hibernated";

export interface TimeChange {
  // The value for the row.
  countedFromMs: number | null;
  // null: no time counted until now.
  ended: { kind: TimeKind; fromMs: number; toMs: number } | null;
}

// null if the kind of time stays the same.
export function timeChange(before: Session, after: { state: SessionState; isHibernated?: boolean }, nowMs: number): TimeChange | null {
  const ending = kindOf(before);
  const wasHibernated = "isHibernated" in before && before.isHibernated;
  const status = countedStatus(after.state);
  const kind = status === "paused" && (after.isHibernated ?? wasHibernated) ? "hibernated" : status;
  if (ending === kind) return null;
  const fromMs = isPartnerSession(before) ? before.countedFromMs : null;
  if (ending === null || fromMs === null) return kind === null ? null : { countedFromMs: nowMs, ended: null };
  // The clock of this server may be behind that of the one that wrote `fromMs`.
  const toMs = Math.max(fromMs, nowMs);
  return { countedFromMs: kind === null ? null : toMs, ended: { kind: ending, fromMs, toMs } };
}

// A session in `destroying` counts as before: `kindOf` knows its former status.
function countedStatus(state: SessionState): "running" | "paused" | null {
  const status = state === "destroying" ? null : STATUSES[state];
  return status === "destroyed" ? null : status;
}

function kindOf(session: Session): TimeKind | null {
  if (!isPartnerSession(session) || session.countedFromMs === null) return null;
  const kind = session.state === "destroying" ? session.was : countedStatus(session.state);
  return kind === "paused" && "isHibernated" in session && session.isHibernated ? "hibernated" : kind;
}

const COLUMNS = { running: "running_ms", paused: "paused_ms", hibernated: "hibernated_ms" } as const;

export async function addTime(tx: Db, session: PartnerSession, { kind, fromMs, toMs }: NonNullable<TimeChange["ended"]>): Promise<void> {
  const days: DayUsage[] = [];
  for (let day = dayOf(fromMs); day < toMs; day = nextDay(day))
    days.push({ ...ownerOf(session), day, [COLUMNS[kind]]: Math.min(toMs, nextDay(day)) - Math.max(fromMs, day) });
  await addUsage(tx, days);
}
