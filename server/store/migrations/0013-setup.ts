import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("sessions").addColumn("setup", "text").execute();
  await db.schema.alterTable("sessions").addColumn("setup_state", "text").execute();
  await db.schema.alterTable("sessions").addColumn("relays", "text").execute();
  // Finds the sessions whose setup has not ended. Most have none.
  await db.schema
    .createIndex("sessions_setup")
    .on("sessions")
    .columns(["setup_state"])
    .where(sql.ref("setup_state"), "is not", sql.lit(null))
    .execute();
}
