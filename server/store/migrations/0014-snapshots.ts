import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("snapshots")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("partner_id", "text")
    .addColumn("session_id", "text", (c) => c.notNull())
    .addColumn("purpose", "text", (c) => c.notNull())
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("template", "text", (c) => c.notNull())
    .addColumn("driver", "text", (c) => c.notNull())
    .addColumn("host", "text")
    .addColumn("bytes", "bigint")
    .addColumn("lease_owner", "text")
    .addColumn("lease_until", "bigint")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .execute();
  await db.schema.createIndex("snapshots_partner").on("snapshots").columns(["partner_id", "created_at", "id"]).execute();
  await db.schema.createIndex("snapshots_created").on("snapshots").columns(["created_at"]).execute();
}
