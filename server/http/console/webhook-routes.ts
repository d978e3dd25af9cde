import type { FastifyRequest } from "fastify";
import { AppError, type Delivery } from "@berth/contract";
import type { ConsoleList, ConsoleWebhook } from "@berth/contract/console.ts";
import type { Clock } from "../../clock.ts";
import type { Endpoints } from "../../events/webhooks/endpoints.ts";
import { listWebhookUse, type WebhookUse } from "../../store/console/webhook-list.ts";
import type { Store } from "../../store/open.ts";
import { appendAudit } from "../../store/partners/audit.ts";
import { encodeDeliveryCursor, parseDeliveryFilter, toDelivery } from "../routes/webhook-routes.ts";
import type { Query } from "../session-format/list-query.ts";
import type { Access } from "./access/access.ts";
import type { ConsoleRoute } from "./console-api.ts";

export interface WebhookRouteDeps {
  store: Store;
  clock: Clock;
  endpoints: Pick<Endpoints, "deliveries" | "redeliver">;
}

const MAX_WEBHOOKS = 200;

export function webhookRoutes({ store, clock, endpoints }: WebhookRouteDeps): ConsoleRoute[] {
  async function require({ partnerId }: Access, request: FastifyRequest): Promise<WebhookUse> {
    const { id } = request.params as { id: string };
    const [found] = await listWebhookUse(store.db, partnerId, { limit: 1, nowMs: clock.now(), id: id.replaceAll("\0", "") });
    if (!found) throw new AppError("webhook_not_found");
    return found;
  }

  return [
    {
      method: "GET",
      path: "/webhooks",
      async handle({ partnerId }): Promise<ConsoleList<ConsoleWebhook>> {
        const found = await listWebhookUse(store.db, partnerId, { limit: MAX_WEBHOOKS, nowMs: clock.now() });
        return { data: found.map(toConsoleWebhook), nextCursor: null };
      },
    },
    { method: "GET", path: "/webhooks/:id", handle: async (access, request) => toConsoleWebhook(await require(access, request)) },
    {
      method: "GET",
      path: "/webhooks/:id/deliveries",
      async handle(access, request): Promise<ConsoleList<Delivery>> {
        const { id, partnerId } = await require(access, request);
        const filter = parseDeliveryFilter(request.query as Query);
        const rows = await endpoints.deliveries(partnerId, id, { ...filter, limit: filter.limit + 1 });
        const page = rows.slice(0, filter.limit);
        return { data: page.map(toDelivery), nextCursor: rows.length > page.length ? encodeDeliveryCursor(page.at(-1)!) : null };
      },
    },
    {
      method: "POST",
      path: "/webhooks/:id/deliveries/:deliveryId/redeliver",
      async handle(access, request): Promise<Delivery> {
        const { id, partnerId } = await require(access, request);
        const { deliveryId } = request.params as { deliveryId: string };
        const queued = await endpoints.redeliver(partnerId, id, deliveryId, (tx) =>
          appendAudit(tx, access.auditEntry("webhook.redeliver", partnerId, id), clock.now()),
        );
        return toDelivery(queued);
      },
    },
  ];
}

const timeOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const toConsoleWebhook = ({ failingSince, dueSince, ...webhook }: WebhookUse): ConsoleWebhook => ({
  ...webhook,
  failingSince: timeOf(failingSince),
  dueSince: timeOf(dueSince),
});
