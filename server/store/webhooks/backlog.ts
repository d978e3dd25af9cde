import type { Db } from "../schema.ts";

export interface WebhookBacklog {
  // Pending deliveries of enabled endpoints, at most MAX_COUNTED.
  pending: number;
  // Since when the first due delivery has been waiting for a sender. null if none waits.
  dueSinceMs: number | null;
  endpoints: { healthy: number; failing: number; disabled: number };
}

// Bounds the cost.
export const MAX_COUNTED = 100_000;

export async function readBacklog(db: Db, nowMs: number): Promise<WebhookBacklog> {
  const { pending } = await db
    .selectFrom(pendingOf(db).as("pending"))
    .select(({ fn }) => fn.countAll().as("pending"))
    .executeTakeFirstOrThrow();
  const { dueSince } = await db
    .selectFrom(firstDueLanes(db, nowMs).as("due"))
    .select(({ fn }) => fn.min<number | null>("next_at").as("dueSince"))
    .executeTakeFirstOrThrow();
  const rows = await db
    .selectFrom("webhook_endpoints")
    .select(({ fn }) => ["state", fn.countAll().as("all"), fn.count("failing_since").as("failing")])
    .where("state", "!=", "deleted")
    .groupBy("state")
    .execute();
  const countOf = (wanted: "enabled" | "disabled") => rows.find(({ state }) => state === wanted) ?? { all: 0, failing: 0 };
  const [enabled, disabled] = [countOf("enabled"), countOf("disabled")];
  return {
    pending: Number(pending),
    dueSinceMs: dueSince === null ? null : Number(dueSince),
    endpoints: {
      healthy: Number(enabled.all) - Number(enabled.failing),
      failing: Number(enabled.failing),
      disabled: Number(disabled.all),
    },
  };
}

// A cross join keeps its order in SQLite, which so reads the index from endpoint to endpoint.
const pendingOf = (db: Db) =>
  db
    .selectFrom("webhook_endpoints")
    .crossJoin("webhook_deliveries")
    .whereRef("webhook_deliveries.endpoint_id", "=", "webhook_endpoints.id")
    .select("webhook_deliveries.endpoint_id")
    .where("webhook_endpoints.state", "=", "enabled")
    .where("webhook_deliveries.state", "=", "pending")
    .limit(MAX_COUNTED);

// The first due lane of each endpoint, found at the head of its index. A lane under a lease is being sent.
export const firstDueLanes = (db: Db, nowMs: number) =>
  db
    .selectFrom("webhook_endpoints")
    .select(({ selectFrom }) =>
      selectFrom("webhook_lanes")
        .select("next_at")
        .whereRef("webhook_lanes.endpoint_id", "=", "webhook_endpoints.id")
        .where("next_at", "<=", nowMs)
        .where("lease_until", "<=", nowMs)
        .orderBy("next_at")
        .limit(1)
        .as("next_at"),
    )
    .where("state", "=", "enabled");
