import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("user_settings")
    .addColumn("partner_id", "text", (c) => c.notNull())
    .addColumn("external_user_id", "text", (c) => c.notNull())
    .addColumn("settings", "text", (c) => c.notNull())
    .addColumn("version", "bigint", (c) => c.notNull())
    .addColumn("used_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("user_settings_user", ["partner_id", "external_user_id"])
    .execute();
  // Finds the settings that are not used any more.
  await db.schema.createIndex("user_settings_used").on("user_settings").columns(["used_at"]).execute();
}
