import type { ConsoleWebhook } from "@berth/contract/console.ts";
import type { Db } from "../schema.ts";
import { countPending } from "../webhooks/deliveries.ts";

// An endpoint without its secrets, with its times as they are stored.
export type WebhookUse = Omit<ConsoleWebhook, "failingSince" | "dueSince"> & Record<"failingSince" | "dueSince", number | null>;

const MAX_COUNTED = 1000;

// The newest first. `partnerId` null: of every partner.
export async function listWebhookUse(
  db: Db,
  partnerId: string | null,
  { limit, nowMs, id }: { limit: number; nowMs: number; id?: string },
): Promise<WebhookUse[]> {
  const columns = ["id", "partner_id", "url", "description", "types", "state", "disabled_reason", "failing_since"] as const;
  let query = db.selectFrom("webhook_endpoints").select(columns).where("state", "!=", "deleted").orderBy("id", "desc").limit(limit);
  if (partnerId !== null) query = query.where("partner_id", "=", partnerId);
  if (id !== undefined) query = query.where("id", "=", id);
  const found: WebhookUse[] = [];
  for (const row of await query.execute())
    found.push({
      id: row.id,
      partnerId: row.partner_id,
      url: row.url,
      description: row.description,
      types: row.types === null ? null : (JSON.parse(row.types) as string[]),
      state: row.state === "enabled" ? "enabled" : "disabled",
      disabledReason: row.disabled_reason,
      failingSince: row.failing_since,
      pending: await countPending(db, row.id, MAX_COUNTED),
      dueSince: await firstDue(db, row.id, nowMs),
    });
  return found;
}

async function firstDue(db: Db, endpointId: string, nowMs: number): Promise<number | null> {
  const row = await db
    .selectFrom("webhook_lanes")
    .select("next_at")
    .where("endpoint_id", "=", endpointId)
    .where("next_at", "<=", nowMs)
    .where("lease_until", "<=", nowMs)
    .orderBy("next_at")
    .limit(1)
    .executeTakeFirst();
  return row?.next_at ?? null;
}
