import type { Kysely } from "kysely";

// Keys from before have every scope.
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable("keys")
    .addColumn("scope", "text", (c) => c.notNull().defaultTo("admin"))
    .execute();
  await db.schema
    .alterTable("keys")
    .addColumn("name", "text", (c) => c.notNull().defaultTo(""))
    .execute();
}
