import { setImmediate as nextTurn } from "node:timers/promises";
import { DAY } from "../../clock.ts";
import { purgeEvents } from "../../store/events.ts";
import type { Db } from "../../store/schema.ts";
import { purgeDeliveries, trimDeliveries } from "../../store/webhooks/deliveries.ts";
import { endpointIds, removeDeleted } from "../../store/webhooks/endpoints.ts";

const RETENTION_MS = 30 * DAY;
// Partners can cause any number of deliveries, so their number is limited as well as their age.
export const MAX_DELIVERIES_PER_ENDPOINT = 10_000;
const ROWS_PER_BATCH = 100;
const ENDPOINTS_PER_BATCH = 100;

// Deletes the deliveries of deleted endpoints, old events and deliveries, and the excess deliveries of each endpoint. Pending
// deliveries of existing endpoints stay.
export async function purgeOutbox(db: Db, nowMs: number): Promise<void> {
  const beforeMs = nowMs - RETENTION_MS;
  await repeat(() => removeDeleted(db, ROWS_PER_BATCH));
  await repeat(() => purgeDeliveries(db, beforeMs, ROWS_PER_BATCH));
  await repeat(() => purgeEvents(db, beforeMs, ROWS_PER_BATCH));
  let ids: string[] = [];
  do {
    ids = await endpointIds(db, ids.at(-1) ?? "", ENDPOINTS_PER_BATCH);
    for (const id of ids) await repeat(() => trimDeliveries(db, id, MAX_DELIVERIES_PER_ENDPOINT, ROWS_PER_BATCH));
  } while (ids.length === ENDPOINTS_PER_BATCH);
}

// Works in small batches, because SQLite runs synchronously in this thread.
async function repeat(purge: () => Promise<number>): Promise<void> {
  let removed: number;
  do {
    removed = await purge();
    await nextTurn();
  } while (removed > 0);
}
