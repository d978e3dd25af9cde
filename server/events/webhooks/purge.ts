import { setImmediate as nextTurn } from "node:timers/promises";
import { DAY } from "../../clock.ts";
import { purgeEvents } from "../../store/events.ts";
import type { Db } from "../../store/schema.ts";
import { purgeDeliveries, trimDeliveries } from "../../store/webhooks/deliveries.ts";
import { endpointIds, removeDeleted } from "../../store/webhooks/endpoints.ts";

const KEPT_MS = 30 * DAY;
// A partner can have any number of deliveries made, so their number is bounded as well as their age.
export const DELIVERIES_KEPT = 10_000;
const ROWS_PER_BATCH = 100;
const ENDPOINTS_PER_BATCH = 100;

// Removes what belongs to deleted endpoints, what is too old, and what an endpoint has too much of. Pending deliveries of
// the others stay.
export async function purgeOutbox(db: Db, nowMs: number): Promise<void> {
  const beforeMs = nowMs - KEPT_MS;
  await repeat(() => removeDeleted(db, ROWS_PER_BATCH));
  await repeat(() => purgeDeliveries(db, beforeMs, ROWS_PER_BATCH));
  await repeat(() => purgeEvents(db, beforeMs, ROWS_PER_BATCH));
  let ids: string[] = [];
  do {
    ids = await endpointIds(db, ids.at(-1) ?? "", ENDPOINTS_PER_BATCH);
    for (const id of ids) await repeat(() => trimDeliveries(db, id, DELIVERIES_KEPT, ROWS_PER_BATCH));
  } while (ids.length === ENDPOINTS_PER_BATCH);
}

// In small steps, because SQLite works in this thread.
async function repeat(purge: () => Promise<number>): Promise<void> {
  let removed: number;
  do {
    removed = await purge();
    await nextTurn();
  } while (removed > 0);
}
