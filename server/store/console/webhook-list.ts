import type { ConsoleWebhook } from "@berth/contract/console.ts";
import type { Db } from "../schema.ts";
import { countPending } from "../webhooks/deliveries.ts";
import { dueLanes } from "../webhooks/lanes.ts";

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

const firstDue = async (db: Db, endpointId: string, nowMs: number): Promise<number | null> =>
  (await dueLanes(db, endpointId, nowMs).limit(1).executeTakeFirst())?.next_at ?? null;
