import type { Store } from "../../server/store/open.ts";

// The time that is counted for each session must equal the time between its events, to the millisecond.
export async function checkUsage(store: Store): Promise<string[]> {
  // One transaction, because a paused session may hibernate in the meantime.
  const { events, rows, days } = await store.transaction(async (tx) => ({
    events: await tx.selectFrom("events").select(["session_id", "type", "at"]).orderBy("seq").execute(),
    rows: await tx.selectFrom("sessions").select(["id", "counted_from"]).execute(),
    days: await tx.selectFrom("usage_days").select(["session_id", "running_ms", "paused_ms", "hibernated_ms"]).execute(),
  }));
  const countedFrom = new Map<string, number | null>(rows.map(({ id, counted_from }) => [id, counted_from]));
  const daysOf = Map.groupBy(days, ({ session_id }) => session_id);
  return [...Map.groupBy(events, ({ session_id }) => session_id)].flatMap(([id, ofSession]) => {
    const expected = timeBetween(ofSession, countedFrom.get(id) ?? null);
    const found = { running: 0, stopped: 0 };
    for (const { running_ms, paused_ms, hibernated_ms } of daysOf.get(id) ?? []) {
      found.running += running_ms;
      found.stopped += paused_ms + hibernated_ms;
    }
    return found.running === expected.running && found.stopped === expected.stopped
      ? []
      : [`${id}: the events say ${JSON.stringify(expected)} ms, and ${JSON.stringify(found)} ms are counted`];
  });
}

const KINDS: Record<string, "running" | "stopped" | "ended"> = {
  "session.created": "running",
  "session.resumed": "running",
  "session.paused": "stopped",
  "session.destroyed": "ended",
};

// The time since `countedFrom` is not counted yet.
function timeBetween(events: readonly { type: string; at: number }[], countedFrom: number | null): { running: number; stopped: number } {
  const time = { running: 0, stopped: 0 };
  const moves = events.filter(({ type }) => type in KINDS);
  for (const [index, { type, at }] of moves.entries()) {
    const kind = KINDS[type]!;
    if (kind !== "ended") time[kind] += (moves[index + 1]?.at ?? countedFrom ?? at) - at;
  }
  return time;
}
