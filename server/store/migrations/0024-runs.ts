import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("runs")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("partner_id", "text", (column) => column.notNull().references("partners.id"))
    .addColumn("session_id", "text", (column) => column.notNull())
    .addColumn("external_user_id", "text", (column) => column.notNull())
    .addColumn("status", "text", (column) => column.notNull())
    .addColumn("revision", "bigint", (column) => column.notNull())
    .addColumn("pending", "text")
    .addColumn("summary", "text", (column) => column.notNull())
    .addColumn("details", "text", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("started_at", "bigint")
    .addColumn("ended_at", "bigint")
    .execute();
  const index = (name: string, ...columns: string[]) => db.schema.createIndex(name).on("runs").columns(columns);
  await index("runs_session", "session_id", "created_at", "id").execute();
  await index("runs_partner", "partner_id", "created_at", "id").execute();
  await index("runs_user", "partner_id", "external_user_id", "created_at", "id").execute();
  await index("runs_created", "created_at", "id").execute();
  await index("runs_ended", "ended_at").execute();
  await index("runs_unfinished", "session_id").where(sql.ref("ended_at"), "is", sql.lit(null)).execute();
  await index("runs_pending", "session_id").where(sql.ref("pending"), "is not", sql.lit(null)).execute();
}
