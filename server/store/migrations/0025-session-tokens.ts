import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("session_tokens")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("partner_id", "text", (column) => column.notNull().references("partners.id"))
    .addColumn("session_id", "text", (column) => column.notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("scopes", "text", (column) => column.notNull())
    .addColumn("ports", "text")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint", (column) => column.notNull())
    .addColumn("revoked_at", "bigint")
    .execute();
  await db.schema.createIndex("session_tokens_session").on("session_tokens").columns(["session_id", "id"]).execute();
}
