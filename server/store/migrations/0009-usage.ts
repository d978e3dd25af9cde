import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  let days = db.schema
    .createTable("usage_days")
    .addColumn("day", "bigint", (c) => c.notNull())
    .addColumn("partner_id", "text", (c) => c.notNull())
    .addColumn("session_id", "text", (c) => c.notNull())
    .addColumn("external_user_id", "text", (c) => c.notNull())
    .addColumn("template", "text", (c) => c.notNull());
  for (const column of [
    "running_ms",
    "paused_ms",
    "hibernated_ms",
    "cpu_ms",
    "memory_peak",
    "memory_sum",
    "memory_samples",
    "disk_peak",
    "disk_sum",
    "disk_samples",
    "egress_bytes",
    "ingress_bytes",
    "input_tokens",
    "output_tokens",
  ])
    days = days.addColumn(column, "bigint", (c) => c.notNull().defaultTo(0));
  // In this order for reports, which read a partner's days one after the other, and for the purge of old days.
  await days.addPrimaryKeyConstraint("usage_days_pk", ["day", "partner_id", "session_id"]).execute();

  await db.schema
    .createTable("usage_counters")
    .addColumn("session_id", "text", (c) => c.primaryKey())
    .addColumn("cpu_ms", "bigint", (c) => c.notNull())
    .addColumn("sampled_at", "bigint", (c) => c.notNull())
    .execute();

  await db.schema.alterTable("sessions").addColumn("counted_from", "bigint").execute();
  // Sessions from before are counted from their last change.
  await sql`update sessions set counted_from = coalesce(paused_at, updated_at)
    where partner_id is not null
    and state in ('running', 'pausing', 'thawing', 'paused', 'hibernating', 'resuming', 'destroying')`.execute(db);
  await sql`create index sessions_counted on sessions (partner_id, id) where counted_from is not null`.execute(db);
}
