import type { FastifyInstance, FastifyRequest } from "fastify";
import type { TObject } from "typebox";
import {
  CreateWebhook,
  UpdateWebhook,
  type Delivery,
  type DeletedWebhook,
  type DeliveryList,
  type FieldFault,
  type RotatedSecret,
  type Webhook,
  type WebhookList,
  type WebhookWithSecret,
} from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { Endpoints, NewEndpoint, NewSecret, RecordChange } from "../../events/webhooks/endpoints.ts";
import { appendAudit } from "../../store/partners/audit.ts";
import type { DeliveryFilter, DeliveryRow, ListedDelivery } from "../../store/webhooks/deliveries.ts";
import type { EndpointRow } from "../../store/webhooks/endpoints.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import { parseRequiredBody, type JsonObject } from "../requests/request-body.ts";
import { addRoute } from "../requests/route.ts";
import { compileFaultFinder } from "../requests/schema-faults.ts";
import type { Idempotency, Result, Save } from "../requests/idempotency.ts";
import { parseLimit, single, type Query } from "../session-format/list-query.ts";
import { auditEntry, idOf, partnerIdOf } from "./route-context.ts";

export interface WebhookRouteDeps {
  endpoints: Endpoints;
  idempotency: Idempotency;
  clock: Clock;
}

// A webhook's secret is sent only in the reply to the request that creates it.
export function addWebhookRoutes(app: FastifyInstance, { endpoints, idempotency: { runOnce }, clock }: WebhookRouteDeps): void {
  // Writes the audit entry, and the reply for a retry, in the transaction of the change.
  const recordChange =
    <Made>(request: FastifyRequest, action: string, save?: Save, toResult?: (made: Made) => Result): RecordChange<Made> =>
    async (tx, id, made) => {
      await appendAudit(tx, auditEntry(request, action, id), clock.now());
      if (save && toResult) await save(tx, toResult(made));
    };

  addRoute(app, "createWebhook", (request, reply) =>
    runOnce(request, reply, async (save) => {
      const webhook = parseCreateBody(request) as CreateWebhook;
      return toCreated(await endpoints.create(partnerIdOf(request), webhook, recordChange(request, "webhook.create", save, toCreated)));
    }),
  );

  addRoute(app, "listWebhooks", async (request): Promise<WebhookList> => ({
    data: (await endpoints.list(partnerIdOf(request))).map(toWebhook),
  }));

  addRoute(app, "getWebhook", async (request) => toWebhook(await endpoints.get(partnerIdOf(request), idOf(request))));

  addRoute(app, "updateWebhook", async (request) => {
    const change = parseUpdateBody(request) as UpdateWebhook;
    return toWebhook(await endpoints.update(partnerIdOf(request), idOf(request), change, recordChange(request, "webhook.update")));
  });

  addRoute(app, "deleteWebhook", async (request): Promise<DeletedWebhook> => {
    await endpoints.remove(partnerIdOf(request), idOf(request), recordChange(request, "webhook.delete"));
    return { id: idOf(request), deleted: true };
  });

  addRoute(app, "rotateWebhookSecret", (request, reply) =>
    runOnce(request, reply, async (save) =>
      toRotated(await endpoints.rotate(partnerIdOf(request), idOf(request), recordChange(request, "webhook.rotate", save, toRotated))),
    ),
  );

  addRoute(app, "testWebhook", (request, reply) =>
    runOnce(request, reply, async (save) =>
      toQueued(await endpoints.test(partnerIdOf(request), idOf(request), recordChange(request, "webhook.test", save, toQueued))),
    ),
  );

  addRoute(app, "listDeliveries", async (request): Promise<DeliveryList> => {
    const filter = parseDeliveryFilter(request.query as Query);
    const rows = await endpoints.deliveries(partnerIdOf(request), idOf(request), { ...filter, limit: filter.limit + 1 });
    const page = rows.slice(0, filter.limit);
    const last = rows.length > page.length ? page.at(-1) : undefined;
    return { data: page.map(toDelivery), nextCursor: last ? encodeDeliveryCursor(last) : null };
  });

  addRoute(app, "redeliver", (request, reply) =>
    runOnce(request, reply, async (save) => {
      const { deliveryId } = request.params as { deliveryId: string };
      const record = recordChange(request, "webhook.redeliver", save, toQueued);
      return toQueued(await endpoints.redeliver(partnerIdOf(request), idOf(request), deliveryId, record));
    }),
  );
}

const parseCreateBody = bodyParser(CreateWebhook);
const parseUpdateBody = bodyParser(UpdateWebhook);

function bodyParser(schema: TObject): (request: FastifyRequest) => JsonObject {
  const findFaults = compileFaultFinder(schema);
  return (request) => {
    const body = parseRequiredBody(request, schema);
    requireNoFaults(findFaults(body));
    return body;
  };
}

const toCreated = ({ row, secret }: NewEndpoint): Result => ({
  status: 201,
  body: { ...toWebhook(row), secret } satisfies WebhookWithSecret,
});

const toRotated = ({ secret, oldUntil }: NewSecret): Result => ({
  status: 200,
  body: { secret, previousSecretExpiresAt: new Date(oldUntil).toISOString() } satisfies RotatedSecret,
});

const toQueued = (row: DeliveryRow): Result => ({ status: 202, body: toDelivery(row) });

const toWebhook = (row: EndpointRow): Webhook => ({
  id: row.id,
  url: row.url,
  types: row.types === null ? null : (JSON.parse(row.types) as Webhook["types"]),
  description: row.description,
  enabled: row.state === "enabled",
  disabledReason: row.disabled_reason as Webhook["disabledReason"],
  createdAt: new Date(row.created_at).toISOString(),
});

export const toDelivery = (row: ListedDelivery): Delivery => ({
  id: row.id,
  eventId: row.event_id,
  type: row.type,
  state: row.state,
  attempts: row.attempts,
  lastStatus: row.last_status,
  lastError: row.last_error,
  createdAt: new Date(row.created_at).toISOString(),
  finishedAt: row.finished_at === null ? null : new Date(row.finished_at).toISOString(),
});

export function parseDeliveryFilter(query: Query): DeliveryFilter {
  const faults: FieldFault[] = [];
  const filter: DeliveryFilter = { limit: parseLimit(query, faults) };
  const state = single(query, "state", faults);
  if (state === "pending" || state === "delivered" || state === "failed") filter.state = state;
  else if (state !== undefined) faults.push({ field: "state", message: "Must be one of pending, delivered, failed" });
  const cursor = single(query, "cursor", faults);
  const [, time, id] = /^(\d{1,15})\.(dlv_\w{26})$/.exec(Buffer.from(cursor ?? "", "base64url").toString("latin1")) ?? [];
  if (time && id) filter.after = { createdAt: Number(time), id };
  else if (cursor !== undefined) faults.push({ field: "cursor", message: "Must be the nextCursor of an earlier page" });
  requireNoFaults(faults);
  return filter;
}

export const encodeDeliveryCursor = (row: ListedDelivery): string => Buffer.from(`${row.created_at}.${row.id}`).toString("base64url");
