import type { Selectable, Updateable } from "kysely";
import { prepare } from "../engines/prepared.ts";
import type { Db, WebhookEndpointsTable } from "../schema.ts";

export type EndpointRow = Selectable<WebhookEndpointsTable>;
type Changes = Updateable<WebhookEndpointsTable>;

export async function insertEndpoint(db: Db, row: EndpointRow): Promise<void> {
  await db.insertInto("webhook_endpoints").values(row).execute();
}

export async function listEndpoints(db: Db, partnerId: string): Promise<EndpointRow[]> {
  return undeleted(db).where("partner_id", "=", partnerId).orderBy("created_at").orderBy("id").execute();
}

export async function findEndpoint(db: Db, partnerId: string, id: string): Promise<EndpointRow | undefined> {
  return undeleted(db).where("id", "=", id).where("partner_id", "=", partnerId).executeTakeFirst();
}

// Returns the endpoint in whatever state it is, for the sender of a lane's deliveries.
export async function endpointOfLane(db: Db, { endpoint_id: id }: { endpoint_id: string }): Promise<EndpointRow | undefined> {
  return db.selectFrom("webhook_endpoints").selectAll().where("id", "=", id).executeTakeFirst();
}

// The sealed columns, for a change of the master key.
export interface SealedSecrets {
  id: string;
  secret: string;
  oldSecret: string | null;
}

export async function listSealedSecrets(db: Db): Promise<SealedSecrets[]> {
  return db.selectFrom("webhook_endpoints").select(["id", "secret", "old_secret as oldSecret"]).execute();
}

// False: the secret has changed since it was read.
export async function replaceSealedSecrets(db: Db, was: SealedSecrets, next: Omit<SealedSecrets, "id">): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("webhook_endpoints")
    .set({ secret: next.secret, old_secret: next.oldSecret })
    .where("id", "=", was.id)
    .where("secret", "=", was.secret)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

const undeleted = (db: Db) => db.selectFrom("webhook_endpoints").selectAll().where("state", "!=", "deleted");

// Serializes transactions that count the endpoint's rows. False: it is deleted.
export async function lockEndpoint(db: Db, id: string): Promise<boolean> {
  return (await updateEndpoint(db, id, { id })) !== undefined;
}

export async function updateEndpoint(db: Db, id: string, changes: Changes): Promise<EndpointRow | undefined> {
  return db
    .updateTable("webhook_endpoints")
    .set(changes)
    .where("id", "=", id)
    .where("state", "!=", "deleted")
    .returningAll()
    .executeTakeFirst();
}

export async function endpointIds(db: Db, afterId: string, limit: number): Promise<string[]> {
  const rows = await db.selectFrom("webhook_endpoints").select("id").where("id", ">", afterId).orderBy("id").limit(limit).execute();
  return rows.map(({ id }) => id);
}

// Hides the endpoint at once. `removeDeleted` removes its rows in batches, because deleting thousands of deliveries in one
// statement would block other writers.
export async function deleteEndpoint(db: Db, id: string): Promise<void> {
  await updateEndpoint(db, id, { state: "deleted" });
}

// Removes up to `limit` rows of deleted endpoints, and returns how many.
export async function removeDeleted(db: Db, limit: number): Promise<number> {
  const endpoint = await db.selectFrom("webhook_endpoints").select("id").where("state", "=", "deleted").limit(1).executeTakeFirst();
  if (!endpoint) return 0;
  const deliveries = db.selectFrom("webhook_deliveries").select("id").where("endpoint_id", "=", endpoint.id).limit(limit);
  const lanes = db.selectFrom("webhook_lanes").select("lane").where("endpoint_id", "=", endpoint.id).limit(limit);
  const removals = [
    db.deleteFrom("webhook_deliveries").where("id", "in", deliveries),
    db.deleteFrom("webhook_lanes").where("endpoint_id", "=", endpoint.id).where("lane", "in", lanes),
    db.deleteFrom("webhook_endpoints").where("id", "=", endpoint.id),
  ];
  for (const removal of removals) {
    const { numDeletedRows } = await removal.executeTakeFirst();
    if (numDeletedRows > 0) return Number(numDeletedRows);
  }
  return 0;
}

export interface Behind {
  // Only endpoints of these partners; undefined means every partner.
  partnerIds?: readonly string[];
  // Only endpoints with a greater id.
  afterId: string;
}

export const ENDPOINTS_PER_WINDOW = 200;

// Enabled endpoints whose partner has events that are not in lanes yet, ordered by id, at most ENDPOINTS_PER_WINDOW.
export async function endpointsBehind(db: Db, { partnerIds, afterId }: Behind): Promise<EndpointRow[]> {
  if (!partnerIds) return allBehind(db, { afterId });
  return behind(db, { afterId }).where("partner_id", "in", partnerIds).execute();
}

const behind = (db: Db, { afterId }: { afterId: string }) =>
  db
    .selectFrom("webhook_endpoints")
    .selectAll()
    .where("state", "=", "enabled")
    .where("id", ">", afterId)
    .where((row) =>
      row(
        "cursor_seq",
        "<",
        row
          .selectFrom("events")
          .select((events) => events.fn.max("seq").as("last"))
          .whereRef("events.partner_id", "=", "webhook_endpoints.partner_id"),
      ),
    )
    .orderBy("id")
    .limit(ENDPOINTS_PER_WINDOW);

const allBehind = prepare(behind);

// False: another server was faster.
export async function moveCursor(db: Db, endpoint: EndpointRow, toSeq: number): Promise<boolean> {
  const moved = await db
    .updateTable("webhook_endpoints")
    .set({ cursor_seq: toSeq })
    .where("id", "=", endpoint.id)
    .where("cursor_seq", "=", endpoint.cursor_seq)
    .returning("id")
    .executeTakeFirst();
  return moved !== undefined;
}

// The first failure after a success starts the time after which the endpoint is disabled as `failing`. Returns that start.
export async function noteFailure(db: Db, id: string, nowMs: number): Promise<number> {
  await db.updateTable("webhook_endpoints").set({ failing_since: nowMs }).where("id", "=", id).where("failing_since", "is", null).execute();
  const row = await db.selectFrom("webhook_endpoints").select("failing_since").where("id", "=", id).executeTakeFirst();
  return row?.failing_since ?? nowMs;
}

export async function disableEndpoint(db: Db, id: string, reason: "gone" | "failing", nowMs: number): Promise<void> {
  await db
    .updateTable("webhook_endpoints")
    .set({ state: "disabled", disabled_reason: reason, updated_at: nowMs })
    .where("id", "=", id)
    .where("state", "=", "enabled")
    .execute();
}
