import { sql, type Kysely } from "kysely";
import type { Engine } from "../engines/engine.ts";

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const serial = engine === "sqlite" ? "integer" : "bigserial";
  if (engine === "postgres") await keepEventsInOrder(db);

  await db.schema.createIndex("events_at").on("events").columns(["at"]).execute();
  // Lets a partner's list of live sessions skip the destroyed ones.
  await sql`create index sessions_partner_live on sessions (partner_id, created_at, id) where destroyed_at is null`.execute(db);

  // One user's sessions in the order of the list. Without the id, the index cannot be used for sorting.
  await db.schema.dropIndex("sessions_partner_user").execute();
  await db.schema
    .createIndex("sessions_partner_user")
    .on("sessions")
    .columns(["partner_id", "external_user_id", "created_at", "id"])
    .execute();

  await db.schema
    .alterTable("idempotency")
    .addColumn("owner", "text", (c) => c.notNull().defaultTo(""))
    .execute();

  await db.schema
    .createTable("webhook_endpoints")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("partner_id", "text", (c) => c.notNull().references("partners.id"))
    .addColumn("url", "text", (c) => c.notNull())
    .addColumn("description", "text", (c) => c.notNull())
    .addColumn("types", "text")
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("disabled_reason", "text")
    .addColumn("secret", "text", (c) => c.notNull())
    .addColumn("old_secret", "text")
    .addColumn("old_secret_until", "bigint")
    .addColumn("cursor_seq", "bigint", (c) => c.notNull())
    .addColumn("failing_since", "bigint")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("updated_at", "bigint", (c) => c.notNull())
    .execute();
  await db.schema.createIndex("webhook_endpoints_partner").on("webhook_endpoints").columns(["partner_id", "created_at"]).execute();

  await db.schema
    .createTable("webhook_lanes")
    .addColumn("endpoint_id", "text", (c) => c.notNull())
    .addColumn("lane", "text", (c) => c.notNull())
    .addColumn("last_seq", "bigint", (c) => c.notNull())
    .addColumn("attempt", "integer", (c) => c.notNull())
    .addColumn("next_at", "bigint", (c) => c.notNull())
    .addColumn("lease_owner", "text")
    .addColumn("lease_until", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("webhook_lanes_pk", ["endpoint_id", "lane"])
    .execute();
  await db.schema.createIndex("webhook_lanes_next").on("webhook_lanes").columns(["next_at"]).execute();

  await db.schema
    .createTable("webhook_deliveries")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("endpoint_id", "text", (c) => c.notNull())
    .addColumn("lane", "text", (c) => c.notNull())
    .addColumn("seq", "bigint", (c) => c.notNull())
    .addColumn("event_id", "text", (c) => c.notNull())
    .addColumn("type", "text", (c) => c.notNull())
    .addColumn("payload", "text", (c) => c.notNull())
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("attempts", "integer", (c) => c.notNull())
    .addColumn("last_status", "integer")
    .addColumn("last_error", "text")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("finished_at", "bigint")
    .execute();
  await db.schema
    .createIndex("webhook_deliveries_lane")
    .on("webhook_deliveries")
    .columns(["endpoint_id", "lane", "state", "seq"])
    .execute();
  await db.schema.createIndex("webhook_deliveries_log").on("webhook_deliveries").columns(["endpoint_id", "created_at", "id"]).execute();
  await db.schema.createIndex("webhook_deliveries_finished").on("webhook_deliveries").columns(["finished_at"]).execute();

  await db.schema
    .createTable("rate_buckets")
    .addColumn("key_id", "text", (c) => c.primaryKey())
    .addColumn("tokens", "double precision", (c) => c.notNull())
    .addColumn("granted", "double precision", (c) => c.notNull())
    .addColumn("updated_at", "bigint", (c) => c.notNull())
    .execute();

  await db.schema
    .createTable("audit")
    .addColumn("seq", serial, (c) => (engine === "sqlite" ? c.primaryKey().autoIncrement() : c.primaryKey()))
    .addColumn("at", "bigint", (c) => c.notNull())
    .addColumn("partner_id", "text", (c) => c.notNull())
    .addColumn("actor", "text", (c) => c.notNull())
    .addColumn("action", "text", (c) => c.notNull())
    .addColumn("target", "text", (c) => c.notNull())
    .addColumn("ip", "text")
    .addColumn("request_id", "text")
    .execute();
  await db.schema.createIndex("audit_partner").on("audit").columns(["partner_id", "seq"]).execute();
  await db.schema.createIndex("audit_target").on("audit").columns(["target", "seq"]).execute();
}

// A sequence assigns numbers before transactions commit, so a reader could see 7, continue from there, and miss 6. The trigger
// takes the number under a lock that lasts until the commit, so that the numbers of a partner become visible in order. As a
// trigger, it applies to every insert.
async function keepEventsInOrder(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function events_in_order() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(hashtext('berth.events'), hashtext(new.partner_id));
      new.seq := nextval(pg_get_serial_sequence('events', 'seq'));
      return new;
    end $$`.execute(db);
  await sql`create trigger events_in_order before insert on events for each row execute function events_in_order()`.execute(db);
}
