import type { Insertable, Selectable } from "kysely";
import type { Db, WebhookDeliveriesTable } from "../schema.ts";
import type { LaneRow } from "./lanes.ts";

export type DeliveryRow = Selectable<WebhookDeliveriesTable>;
type NewDelivery = Insertable<WebhookDeliveriesTable>;

// Stores deliveries, oldest first, and makes their lanes due.
export async function enqueue(db: Db, deliveries: NewDelivery[], nowMs: number): Promise<void> {
  if (deliveries.length === 0) return;
  await db.insertInto("webhook_deliveries").values(deliveries).execute();
  // One row per lane, for its last delivery: PostgreSQL refuses an upsert that touches a row twice.
  const lanes = new Map(deliveries.map(({ endpoint_id, lane, seq }) => [`${endpoint_id} ${lane}`, { endpoint_id, lane, last_seq: seq }]));
  await db
    .insertInto("webhook_lanes")
    .values([...lanes.values()].map((lane) => ({ ...lane, attempt: 0, next_at: nowMs, lease_owner: null, lease_until: 0 })))
    // The update tells a server that is about to remove the lane that it is no longer empty.
    .onConflict((conflict) => conflict.columns(["endpoint_id", "lane"]).doUpdateSet((row) => ({ last_seq: row.ref("excluded.last_seq") })))
    .execute();
}

export async function headOfLane(db: Db, { endpoint_id, lane }: LaneRow): Promise<DeliveryRow | undefined> {
  return db
    .selectFrom("webhook_deliveries")
    .selectAll()
    .where("endpoint_id", "=", endpoint_id)
    .where("lane", "=", lane)
    .where("state", "=", "pending")
    .orderBy("seq")
    .limit(1)
    .executeTakeFirst();
}

export async function noteAttempt(
  db: Db,
  id: string,
  result: Pick<DeliveryRow, "state" | "attempts" | "last_status" | "last_error" | "finished_at">,
): Promise<void> {
  await db.updateTable("webhook_deliveries").set(result).where("id", "=", id).execute();
}

// Stops counting at `limit`, so that the cost is bounded.
export async function countPending(db: Db, endpointId: string, limit: number): Promise<number> {
  return countOf(db, pendingOf(db, endpointId).limit(limit));
}

// Pending deliveries that a partner requested (their `seq` is 0): tests, or redeliveries.
export async function countOutOfTurn(db: Db, endpointId: string, wanted: { testType: string; tests: boolean }): Promise<number> {
  return countOf(
    db,
    pendingOf(db, endpointId)
      .where("seq", "=", 0)
      .where("type", wanted.tests ? "=" : "!=", wanted.testType),
  );
}

const pendingOf = (db: Db, endpointId: string) =>
  db.selectFrom("webhook_deliveries").select("id").where("endpoint_id", "=", endpointId).where("state", "=", "pending");

async function countOf(db: Db, rows: ReturnType<typeof pendingOf>): Promise<number> {
  const { count } = await db
    .selectFrom(rows.as("pending"))
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return count;
}

const SENT = ["delivered", "failed"] as const;

// Purges return how many rows they removed; 0 means that none is left to remove.
export async function purgeDeliveries(db: Db, beforeMs: number, limit: number): Promise<number> {
  const old = db.selectFrom("webhook_deliveries").select("id").where("finished_at", "<", beforeMs).where("state", "in", SENT).limit(limit);
  return deleted(await db.deleteFrom("webhook_deliveries").where("id", "in", old).executeTakeFirst());
}

// Removes finished deliveries of an endpoint that are older than its newest `kept`.
export async function trimDeliveries(db: Db, endpointId: string, kept: number, limit: number): Promise<number> {
  const log = db.selectFrom("webhook_deliveries").where("endpoint_id", "=", endpointId);
  const newest = log.select(["created_at", "id"]).orderBy("created_at", "desc").orderBy("id", "desc");
  const last = await newest.offset(kept).limit(1).executeTakeFirst();
  if (!last) return 0;
  const old = log
    .select("id")
    .where("created_at", "<=", last.created_at)
    .where((row) => row.or([row("created_at", "<", last.created_at), row("id", "<=", last.id)]))
    .where("state", "in", SENT)
    .orderBy("created_at")
    .limit(limit);
  return deleted(await db.deleteFrom("webhook_deliveries").where("id", "in", old).executeTakeFirst());
}

const deleted = (result: { numDeletedRows: bigint } | undefined): number => Number(result?.numDeletedRows ?? 0);

export interface DeliveryFilter {
  state?: DeliveryRow["state"];
  limit: number;
  after?: { createdAt: number; id: string };
}

// Without the payload, which may be large.
const LISTED = [
  "id",
  "event_id",
  "type",
  "state",
  "attempts",
  "last_status",
  "last_error",
  "created_at",
  "finished_at",
] as const satisfies (keyof DeliveryRow)[];
export type ListedDelivery = Pick<DeliveryRow, (typeof LISTED)[number]>;

// Newest first.
export async function listDeliveries(db: Db, endpointId: string, { state, limit, after }: DeliveryFilter): Promise<ListedDelivery[]> {
  let query = db
    .selectFrom("webhook_deliveries")
    .select(LISTED)
    .where("endpoint_id", "=", endpointId)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(limit);
  if (state !== undefined) query = query.where("state", "=", state);
  if (after) {
    const { createdAt, id } = after;
    query = query.where("created_at", "<=", createdAt).where((row) => row.or([row("created_at", "<", createdAt), row("id", "<", id)]));
  }
  return query.execute();
}

export async function findDelivery(db: Db, endpointId: string, id: string): Promise<DeliveryRow | undefined> {
  return db.selectFrom("webhook_deliveries").selectAll().where("id", "=", id).where("endpoint_id", "=", endpointId).executeTakeFirst();
}
