import { sql, type Kysely } from "kysely";

// How long a key was to last when it was issued; a rotation shortens `expires_at`, and the new key still gets this lifetime.
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("keys").addColumn("lifetime_ms", "bigint").execute();
  await sql`UPDATE keys SET lifetime_ms = expires_at - created_at WHERE expires_at IS NOT NULL`.execute(db);
}
