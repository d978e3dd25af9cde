import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("volumes")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("partner_id", "text", (column) => column.notNull().references("partners.id"))
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("size_mb", "integer", (column) => column.notNull())
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("driver", "text")
    .addColumn("host", "text")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("volumes_name").on("volumes").columns(["partner_id", "name"]).execute();
  await db.schema
    .createTable("volume_mounts")
    .addColumn("volume_id", "text", (column) => column.notNull().references("volumes.id").onDelete("cascade"))
    .addColumn("session_id", "text", (column) => column.notNull())
    .addColumn("mode", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("volume_mounts_key", ["volume_id", "session_id"])
    .execute();
  await db.schema.alterTable("sessions").addColumn("volumes", "text").execute();
}
