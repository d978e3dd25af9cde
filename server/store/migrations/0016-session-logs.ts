import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("openings")
    .addColumn("session_id", "text", (c) => c.notNull())
    .addColumn("opened_at", "bigint", (c) => c.notNull())
    .addColumn("address", "text", (c) => c.notNull())
    .addColumn("agent", "text", (c) => c.notNull())
    .addColumn("role", "text")
    .addColumn("ended_at", "bigint")
    .addPrimaryKeyConstraint("openings_pk", ["session_id", "opened_at"])
    .execute();

  await db.schema
    .createTable("egress_hosts")
    .addColumn("session_id", "text", (c) => c.notNull())
    .addColumn("outcome", "text", (c) => c.notNull())
    .addColumn("host", "text", (c) => c.notNull())
    .addColumn("port", "integer", (c) => c.notNull())
    .addColumn("rule", "text", (c) => c.notNull())
    .addColumn("connections", "bigint", (c) => c.notNull())
    .addColumn("sent_bytes", "bigint", (c) => c.notNull())
    .addColumn("received_bytes", "bigint", (c) => c.notNull())
    .addColumn("first_at", "bigint", (c) => c.notNull())
    .addColumn("last_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("egress_hosts_pk", ["session_id", "outcome", "host", "port", "rule"])
    .execute();
}
