import type { Selectable } from "kysely";
import { prepare } from "../engines/prepared.ts";
import type { Db, WebhookLanesTable } from "../schema.ts";

export type LaneRow = Selectable<WebhookLanesTable>;

// Deliveries wait in lanes. Only the holder of a lane's lease sends from it, so the order holds across restarts and servers.

export interface DueEndpoint {
  id: string;
  partner_id: string;
  failing_since: number | null;
}

// Enabled endpoints with a lane that is due and free. The query skips through the index from endpoint to endpoint, so an
// endpoint with 100,000 lanes costs no more than one with a single lane.
export const dueEndpoints = (db: Db, nowMs: number) =>
  db
    .withRecursive("waiting(endpoint_id)", (with_) =>
      with_
        .selectFrom("webhook_lanes")
        .select(({ fn }) => fn.min<string | null>("endpoint_id").as("endpoint_id"))
        .unionAll(
          with_
            .selectFrom("waiting")
            .where("waiting.endpoint_id", "is not", null)
            .select((row) =>
              row
                .selectFrom("webhook_lanes")
                .whereRef("webhook_lanes.endpoint_id", ">", "waiting.endpoint_id")
                .select(({ fn }) => fn.min<string | null>("webhook_lanes.endpoint_id").as("next"))
                .as("endpoint_id"),
            ),
        ),
    )
    .selectFrom("waiting")
    // Not an inner join: SQLite keeps the order of a cross join, and would otherwise scan every endpoint.
    .crossJoin("webhook_endpoints")
    .whereRef("webhook_endpoints.id", "=", "waiting.endpoint_id")
    .select(["webhook_endpoints.id", "webhook_endpoints.partner_id", "webhook_endpoints.failing_since"])
    .where("webhook_endpoints.state", "=", "enabled")
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("webhook_lanes")
          .select("lane")
          .whereRef("webhook_lanes.endpoint_id", "=", "webhook_endpoints.id")
          .where("next_at", "<=", nowMs)
          .where("lease_until", "<=", nowMs)
          // The order and the offset make PostgreSQL read only the head of the index. Otherwise it reads every due lane, for
          // a join or because most lanes match.
          .orderBy("next_at")
          .limit(1)
          .offset(0),
      ),
    );

export const findDueEndpoints = prepare((db, { nowMs }: { nowMs: number }) => dueEndpoints(db, nowMs));

// Other servers compete for the same lanes. After this many lost races, the rest waits for the next poll.
const CANDIDATES = 8;

// Leases the endpoint's lane that has been due the longest. undefined: none is due and free, or the endpoint is not enabled.
export async function claimDueLane(db: Db, endpointId: string, lease: { owner: string; nowMs: number; untilMs: number }) {
  const candidates = await dueLanes(db, endpointId, lease.nowMs).execute();
  for (const lane of candidates) {
    const claimed = await claimLane(db, lane, lease.owner, lease.untilMs);
    if (claimed) return claimed;
  }
  return undefined;
}

export const dueLanes = (db: Db, endpointId: string, nowMs: number) =>
  db
    .selectFrom("webhook_lanes")
    .selectAll()
    .where("endpoint_id", "=", endpointId)
    .where("next_at", "<=", nowMs)
    .where("lease_until", "<=", nowMs)
    .orderBy("next_at")
    .limit(CANDIDATES);

// undefined: another server was faster, or the endpoint was disabled since the caller's search.
async function claimLane(db: Db, lane: LaneRow, owner: string, leaseUntil: number): Promise<LaneRow | undefined> {
  return ofLane(db.updateTable("webhook_lanes").set({ lease_owner: owner, lease_until: leaseUntil }), lane)
    .where("lease_until", "=", lane.lease_until)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom("webhook_endpoints").select("id").where("id", "=", lane.endpoint_id).where("state", "=", "enabled")),
    )
    .returningAll()
    .executeTakeFirst();
}

// False: the lease expired and another server has the lane.
export async function renewLane(db: Db, lane: LaneRow, leaseUntil: number): Promise<boolean> {
  const renewed = await held(db.updateTable("webhook_lanes").set({ lease_until: leaseUntil }), lane)
    .returning("lane")
    .executeTakeFirst();
  return renewed !== undefined;
}

export async function releaseLane(db: Db, lane: LaneRow, next: { attempt: number; nextAt: number }): Promise<void> {
  await held(
    db.updateTable("webhook_lanes").set({ attempt: next.attempt, next_at: next.nextAt, lease_owner: null, lease_until: 0 }),
    lane,
  ).execute();
}

// Removes an empty lane. If a delivery has arrived in the meantime, the lane stays and is due at once.
export async function removeEmptyLane(db: Db, lane: LaneRow, lastSentSeq: number, nowMs: number): Promise<void> {
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

// The receiver has recovered: lanes that wait for a retry are due now. Lanes that are due already are not written, so that a
// receiver that fails and succeeds in turn costs one update per failure.
export async function makeLanesDue(db: Db, endpointId: string, nowMs: number): Promise<void> {
  await db
    .updateTable("webhook_lanes")
    .set({ next_at: nowMs })
    .where("endpoint_id", "=", endpointId)
    .where("next_at", ">", nowMs)
    .execute();
}

interface LaneQuery {
  where(column: "endpoint_id" | "lane", operator: "=", value: string): this;
  where(column: "lease_owner", operator: "=", value: string | null): this;
}
const ofLane = <Query extends LaneQuery>(query: Query, { endpoint_id, lane }: LaneRow): Query =>
  query.where("endpoint_id", "=", endpoint_id).where("lane", "=", lane);
const held = <Query extends LaneQuery>(query: Query, lane: LaneRow): Query =>
  ofLane(query, lane).where("lease_owner", "=", lane.lease_owner);
