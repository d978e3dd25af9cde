import type { Insertable, Selectable } from "kysely";
import type { Db, WebhookDeliveriesTable, WebhookLanesTable } from "./schema.ts";

export type LaneRow = Selectable<WebhookLanesTable>;
export type DeliveryRow = Selectable<WebhookDeliveriesTable>;

// Deliveries wait in lanes. Whoever holds a lane's lease is the only one to send from it, so their order holds over
// restarts and over several servers.

export async function enqueue(db: Db, deliveries: Insertable<WebhookDeliveriesTable>[], nowMs: number): Promise<void> {
  for (const delivery of deliveries) {
    await db.insertInto("webhook_deliveries").values(delivery).execute();
    const { endpoint_id, lane, seq } = delivery;
    await db
      .insertInto("webhook_lanes")
      .values({ endpoint_id, lane, last_seq: seq, attempt: 0, next_at: nowMs, lease_owner: null, lease_until: 0 })
      // The update makes whoever is about to remove the lane see that there is more in it.
      .onConflict((conflict) => conflict.columns(["endpoint_id", "lane"]).doUpdateSet({ last_seq: seq }))
      .execute();
  }
}

// Lanes of enabled endpoints that are due and free; none of the endpoints in `except`.
export async function dueLanes(db: Db, nowMs: number, except: string[], limit: number): Promise<LaneRow[]> {
  let query = db
    .selectFrom("webhook_lanes")
    .innerJoin("webhook_endpoints", "webhook_endpoints.id", "webhook_lanes.endpoint_id")
    .selectAll("webhook_lanes")
    .where("webhook_endpoints.state", "=", "enabled")
    .where("next_at", "<=", nowMs)
    .where("lease_until", "<=", nowMs)
    .orderBy("next_at")
    .limit(limit);
  if (except.length > 0) query = query.where("webhook_lanes.endpoint_id", "not in", except);
  return query.execute();
}

// The lane, now `owner`'s; undefined when somebody else was faster.
export async function claimLane(db: Db, lane: LaneRow, owner: string, leaseUntil: number): Promise<LaneRow | undefined> {
  return ofLane(db.updateTable("webhook_lanes").set({ lease_owner: owner, lease_until: leaseUntil }), lane)
    .where("lease_until", "=", lane.lease_until)
    .returningAll()
    .executeTakeFirst();
}

// False: the lease ran out and somebody else has the lane.
export async function renewLane(db: Db, lane: LaneRow, leaseUntil: number): Promise<boolean> {
  const renewed = await held(db.updateTable("webhook_lanes").set({ lease_until: leaseUntil }), lane)
    .returning("lane")
    .executeTakeFirst();
  return renewed !== undefined;
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

export async function releaseLane(db: Db, lane: LaneRow, next: { attempt: number; nextAt: number }): Promise<void> {
  await held(
    db.updateTable("webhook_lanes").set({ attempt: next.attempt, next_at: next.nextAt, lease_owner: null, lease_until: 0 }),
    lane,
  ).execute();
}

// An empty lane goes, unless something was put in meanwhile: then it is due again at once.
export async function leaveEmptyLane(db: Db, lane: LaneRow, lastSentSeq: number, nowMs: number): Promise<void> {
  const gone = await db
    .deleteFrom("webhook_lanes")
    .where("endpoint_id", "=", lane.endpoint_id)
    .where("lane", "=", lane.lane)
    .where("lease_owner", "=", lane.lease_owner)
    .where("last_seq", "<=", lastSentSeq)
    .returning("lane")
    .executeTakeFirst();
  if (!gone) await releaseLane(db, lane, { attempt: 0, nextAt: nowMs });
}

export async function noteAttempt(
  db: Db,
  id: string,
  result: Pick<DeliveryRow, "state" | "attempts" | "last_status" | "last_error" | "finished_at">,
): Promise<void> {
  await db.updateTable("webhook_deliveries").set(result).where("id", "=", id).execute();
}

// Nobody looks at the lanes of a disabled endpoint until `hurryLanes`.
export async function parkLanes(db: Db, endpointId: string): Promise<void> {
  await db.updateTable("webhook_lanes").set({ next_at: PARKED }).where("endpoint_id", "=", endpointId).execute();
}
export const PARKED = Number.MAX_SAFE_INTEGER;

// The receiver is back: what waits for a later try need not wait any longer.
export async function hurryLanes(db: Db, endpointId: string, nowMs: number): Promise<void> {
  await db
    .updateTable("webhook_lanes")
    .set({ next_at: nowMs })
    .where("endpoint_id", "=", endpointId)
    .where("next_at", ">", nowMs)
    .execute();
}

const SENT = ["delivered", "failed"] as const;

export async function purgeDeliveries(db: Db, beforeMs: number, limit: number): Promise<void> {
  const old = db.selectFrom("webhook_deliveries").select("id").where("finished_at", "<", beforeMs).where("state", "in", SENT).limit(limit);
  await db.deleteFrom("webhook_deliveries").where("id", "in", old).execute();
}

export interface DeliveryFilter {
  state?: DeliveryRow["state"];
  limit: number;
  after?: { createdAt: number; id: string };
}

// Without what is sent, which may be large.
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

interface LaneQuery {
  where(column: "endpoint_id" | "lane", operator: "=", value: string): this;
  where(column: "lease_owner", operator: "=", value: string | null): this;
}
const ofLane = <Query extends LaneQuery>(query: Query, { endpoint_id, lane }: LaneRow): Query =>
  query.where("endpoint_id", "=", endpoint_id).where("lane", "=", lane);
const held = <Query extends LaneQuery>(query: Query, lane: LaneRow): Query =>
  ofLane(query, lane).where("lease_owner", "=", lane.lease_owner);
