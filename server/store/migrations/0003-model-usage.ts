import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("model_usage")
    .addColumn("session_id", "text", (c) => c.primaryKey())
    .addColumn("partner_id", "text", (c) => c.notNull())
    .addColumn("external_user_id", "text", (c) => c.notNull())
    .addColumn("requests", "bigint", (c) => c.notNull())
    .addColumn("input_tokens", "bigint", (c) => c.notNull())
    .addColumn("output_tokens", "bigint", (c) => c.notNull())
    .addColumn("updated_at", "bigint", (c) => c.notNull())
    .execute();
  // This index serves the sum of one user.
  await db.schema.createIndex("model_usage_user").on("model_usage").columns(["partner_id", "external_user_id"]).execute();
}
