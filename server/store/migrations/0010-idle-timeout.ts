import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("partners").addColumn("idle_timeout_ms", "integer").execute();
  await db.schema.alterTable("sessions").addColumn("idle_timeout_ms", "integer").execute();
  await db.schema.alterTable("sessions").addColumn("idle_at", "bigint").execute();
  await db.schema.alterTable("sessions").addColumn("idle_look_at", "bigint").execute();
  // Finds the sessions that may be idle. Most have no idle timeout.
  await db.schema
    .createIndex("sessions_idle")
    .on("sessions")
    .columns(["idle_look_at"])
    .where(sql.ref("idle_look_at"), "is not", sql.lit(null))
    .execute();
}
