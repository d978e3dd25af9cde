import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  // Due lanes are searched by endpoint, so that a long queue of one endpoint does not delay the others.
  await db.schema.dropIndex("webhook_lanes_next").execute();
  await db.schema.createIndex("webhook_lanes_due").on("webhook_lanes").columns(["endpoint_id", "next_at"]).execute();
  // Finds the pending deliveries of an endpoint, and the first delivery of a lane.
  await db.schema.dropIndex("webhook_deliveries_lane").execute();
  await db.schema
    .createIndex("webhook_deliveries_state")
    .on("webhook_deliveries")
    .columns(["endpoint_id", "state", "lane", "seq"])
    .execute();
}
