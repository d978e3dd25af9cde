import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("operator_tokens")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("hash", "text", (c) => c.notNull().unique())
    .addColumn("hint", "text", (c) => c.notNull())
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("expires_at", "bigint", (c) => c.notNull())
    .addColumn("last_used_at", "bigint")
    .addColumn("revoked_at", "bigint")
    .execute();

  await db.schema
    .createTable("console_logins")
    .addColumn("hash", "text", (c) => c.primaryKey())
    .addColumn("token_id", "text")
    .addColumn("key_id", "text")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("expires_at", "bigint", (c) => c.notNull())
    .execute();
  await db.schema.createIndex("console_logins_expires").on("console_logins").columns(["expires_at"]).execute();

  // The sessions of all partners, newest first: all of them, and those that are not destroyed.
  await sql`create index sessions_newest on sessions (created_at, id) where partner_id is not null`.execute(db);
  await sql`create index sessions_newest_live on sessions (created_at, id) where partner_id is not null and destroyed_at is null`.execute(
    db,
  );
}
