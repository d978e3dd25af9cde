import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("quarantine")
    .addColumn("kind", "text", (c) => c.notNull())
    .addColumn("id", "text", (c) => c.notNull())
    .addColumn("driver", "text", (c) => c.notNull())
    .addColumn("host", "text")
    .addColumn("session", "text")
    .addColumn("found_at", "bigint", (c) => c.notNull())
    .addColumn("delete_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("quarantine_pk", ["kind", "id"])
    .execute();
}
