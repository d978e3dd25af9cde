import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ["limits_version", "egress_closed_version"])
    await db.schema
      .alterTable("sessions")
      .addColumn(column, "integer", (definition) => definition.notNull().defaultTo(0))
      .execute();
  await db.schema
    .createIndex("sessions_changed_limits")
    .on("sessions")
    .columns(["driver", "host"])
    .where(sql.ref("limits_version"), ">", sql.lit(0))
    .execute();
}
