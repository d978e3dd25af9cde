import type { Selectable, Updateable } from "kysely";
import type { Db, WebhookEndpointsTable } from "./schema.ts";

export type EndpointRow = Selectable<WebhookEndpointsTable>;
type Changes = Updateable<WebhookEndpointsTable>;

export async function insertEndpoint(db: Db, row: EndpointRow): Promise<void> {
  await db.insertInto("webhook_endpoints").values(row).execute();
}

export async function listEndpoints(db: Db, partnerId: string): Promise<EndpointRow[]> {
  return db.selectFrom("webhook_endpoints").selectAll().where("partner_id", "=", partnerId).orderBy("created_at").orderBy("id").execute();
}

export async function findEndpoint(db: Db, partnerId: string, id: string): Promise<EndpointRow | undefined> {
  return db.selectFrom("webhook_endpoints").selectAll().where("id", "=", id).where("partner_id", "=", partnerId).executeTakeFirst();
}

export async function updateEndpoint(db: Db, id: string, changes: Changes): Promise<EndpointRow | undefined> {
  return db.updateTable("webhook_endpoints").set(changes).where("id", "=", id).returningAll().executeTakeFirst();
}

export async function deleteEndpoint(db: Db, id: string): Promise<void> {
  await db.deleteFrom("webhook_deliveries").where("endpoint_id", "=", id).execute();
  await db.deleteFrom("webhook_lanes").where("endpoint_id", "=", id).execute();
  await db.deleteFrom("webhook_endpoints").where("id", "=", id).execute();
}

// Enabled endpoints whose partner has events that no lane has been given yet.
export async function endpointsBehind(db: Db, limit: number): Promise<EndpointRow[]> {
  return db
    .selectFrom("webhook_endpoints")
    .selectAll()
    .where("state", "=", "enabled")
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
    .limit(limit)
    .execute();
}

// False: another server has done it.
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

// The first failure after a success starts the clock that ends in `failing`.
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
