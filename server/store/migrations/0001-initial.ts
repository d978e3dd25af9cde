import { sql, type Kysely } from "kysely";
import type { Engine } from "../engines/engine.ts";

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  await db.schema
    .createTable("partners")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("origins", "text", (c) => c.notNull())
    .addColumn("max_sessions", "integer")
    .addColumn("max_sessions_per_user", "integer")
    .addColumn("rate_per_minute", "integer")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .execute();

  await db.schema
    .createTable("keys")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("partner_id", "text", (c) => c.notNull().references("partners.id"))
    .addColumn("hash", "text", (c) => c.notNull().unique())
    .addColumn("hint", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("last_used_at", "bigint")
    .addColumn("expires_at", "bigint")
    .addColumn("revoked_at", "bigint")
    .execute();
  await db.schema.createIndex("keys_partner").on("keys").columns(["partner_id"]).execute();

  await db.schema
    .createTable("sessions")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("sandbox_id", "text", (c) => c.notNull().unique())
    .addColumn("partner_id", "text", (c) => c.references("partners.id"))
    .addColumn("external_user_id", "text")
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("generation", "integer", (c) => c.notNull())
    .addColumn("lease_owner", "text")
    .addColumn("lease_until", "bigint")
    .addColumn("template", "text", (c) => c.notNull())
    .addColumn("template_hash", "text", (c) => c.notNull())
    .addColumn("driver", "text", (c) => c.notNull())
    .addColumn("host", "text")
    .addColumn("env", "text")
    .addColumn("token", "text", (c) => c.notNull())
    .addColumn("metadata", "text", (c) => c.notNull())
    .addColumn("auto_start_agent", "integer", (c) => c.notNull())
    .addColumn("timeout_ms", "integer", (c) => c.notNull())
    .addColumn("expires_at", "bigint")
    .addColumn("warned", "integer", (c) => c.notNull())
    .addColumn("paused_at", "bigint")
    .addColumn("hibernated", "integer", (c) => c.notNull())
    .addColumn("stop_reason", "text")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("updated_at", "bigint", (c) => c.notNull())
    .addColumn("destroyed_at", "bigint")
    .execute();
  // For a partner's list, newest first; one user's live sessions (quota); all sessions in one state (pool, reconciliation); and
  // sessions for which a timer is due.
  await db.schema.createIndex("sessions_partner_created").on("sessions").columns(["partner_id", "created_at", "id"]).execute();
  await db.schema.createIndex("sessions_partner_user").on("sessions").columns(["partner_id", "external_user_id", "created_at"]).execute();
  await db.schema.createIndex("sessions_state_template").on("sessions").columns(["state", "template"]).execute();
  await db.schema.createIndex("sessions_expires").on("sessions").columns(["state", "expires_at"]).execute();
  await db.schema.createIndex("sessions_paused").on("sessions").columns(["state", "hibernated", "paused_at"]).execute();
  await db.schema.createIndex("sessions_destroyed").on("sessions").columns(["state", "destroyed_at"]).execute();
  await db.schema
    .createIndex("sessions_live")
    .on("sessions")
    .columns(["partner_id", "external_user_id"])
    .where(sql.ref("state"), "<>", sql.lit("destroyed"))
    .execute();
  await db.schema.createIndex("sessions_warning").on("sessions").columns(["state", "warned", "expires_at"]).execute();
  await db.schema.createIndex("sessions_lease").on("sessions").columns(["lease_until"]).execute();

  await db.schema
    .createTable("events")
    .addColumn("seq", engine === "sqlite" ? "integer" : "bigserial", (c) =>
      engine === "sqlite" ? c.primaryKey().autoIncrement() : c.primaryKey(),
    )
    .addColumn("id", "text", (c) => c.notNull().unique())
    .addColumn("partner_id", "text", (c) => c.notNull())
    .addColumn("session_id", "text", (c) => c.notNull())
    .addColumn("type", "text", (c) => c.notNull())
    .addColumn("at", "bigint", (c) => c.notNull())
    .addColumn("data", "text", (c) => c.notNull())
    .execute();
  await db.schema.createIndex("events_partner_seq").on("events").columns(["partner_id", "seq"]).execute();
  await db.schema.createIndex("events_session_seq").on("events").columns(["session_id", "seq"]).execute();

  await db.schema
    .createTable("idempotency")
    .addColumn("partner_id", "text", (c) => c.notNull())
    .addColumn("scope", "text", (c) => c.notNull())
    .addColumn("fingerprint", "text", (c) => c.notNull())
    .addColumn("status", "integer")
    .addColumn("body", "text")
    .addColumn("lease_until", "bigint", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("expires_at", "bigint", (c) => c.notNull())
    .addPrimaryKeyConstraint("idempotency_pk", ["partner_id", "scope"])
    .execute();
  await db.schema.createIndex("idempotency_expires").on("idempotency").columns(["expires_at"]).execute();
}
