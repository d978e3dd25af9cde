import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ["auto_resume", "max_timeout_ms"]) await db.schema.alterTable("partners").addColumn(column, "integer").execute();
  await db.schema.alterTable("partners").addColumn("on_timeout", "text").execute();
  await db.schema
    .alterTable("sessions")
    .addColumn("auto_resume", "integer", (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable("sessions").addColumn("max_timeout_ms", "integer").execute();
  await db.schema.alterTable("sessions").addColumn("extend_until", "bigint").execute();
  for (const column of ["on_timeout", "resources", "egress"]) await db.schema.alterTable("sessions").addColumn(column, "text").execute();
}
