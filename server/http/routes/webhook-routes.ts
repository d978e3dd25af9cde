import type { FastifyInstance, FastifyRequest } from "fastify";
import {
  AppError,
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
import type { Endpoints, NewEndpoint, NewSecret, Record as Recorder } from "../../events/webhooks/endpoints.ts";
import { appendAudit } from "../../store/audit.ts";
import type { DeliveryFilter, DeliveryRow, ListedDelivery } from "../../store/webhooks/deliveries.ts";
import type { EndpointRow } from "../../store/webhooks/endpoints.ts";
import { bodyFault } from "../requests/field-faults.ts";
import { jsonObject } from "../requests/request-body.ts";
import { addRoute } from "../requests/route.ts";
import { auditEntry } from "./audit-entry.ts";
import type { Idempotency, Result, Save } from "./idempotency.ts";
import { parseLimit, single, type Query } from "./list-query.ts";
import { faultFinder, refuse } from "./validation.ts";

export interface WebhookRouteDeps {
  endpoints: Endpoints;
  idempotency: Idempotency;
  clock: Clock;
}

// Parse, call, reply. A secret leaves only in the answer to the call that made it.
export function addWebhookRoutes(app: FastifyInstance, { endpoints, idempotency: { once }, clock }: WebhookRouteDeps): void {
  // What goes into the transaction of a change: who asked for it, and the answer for whoever asks again.
  const record =
    <Made>(request: FastifyRequest, action: string, save?: Save, answer?: (made: Made) => Result): Recorder<Made> =>
    async (tx, id, made) => {
      await appendAudit(tx, auditEntry(request, action, id), clock.now());
      if (save && answer) await save(tx, answer(made));
    };

  addRoute(app, "createWebhook", (request, reply) =>
    once(request, reply, async (save) => {
      const wanted = parseBody(request, createFaults) as CreateWebhook;
      return toCreated(await endpoints.create(partnerOf(request), wanted, record(request, "webhook.create", save, toCreated)));
    }),
  );

  addRoute(app, "listWebhooks", async (request): Promise<WebhookList> => ({
    data: (await endpoints.list(partnerOf(request))).map(toWebhook),
  }));

  addRoute(app, "getWebhook", async (request) => toWebhook(await endpoints.get(partnerOf(request), idOf(request))));

  addRoute(app, "updateWebhook", async (request) => {
    const change = parseBody(request, updateFaults) as UpdateWebhook;
    return toWebhook(await endpoints.update(partnerOf(request), idOf(request), change, record(request, "webhook.update")));
  });

  addRoute(app, "deleteWebhook", async (request): Promise<DeletedWebhook> => {
    await endpoints.remove(partnerOf(request), idOf(request), record(request, "webhook.delete"));
    return { id: idOf(request), deleted: true };
  });

  addRoute(app, "rotateWebhookSecret", (request, reply) =>
    once(request, reply, async (save) =>
      toRotated(await endpoints.rotate(partnerOf(request), idOf(request), record(request, "webhook.rotate", save, toRotated))),
    ),
  );

  addRoute(app, "testWebhook", (request, reply) =>
    once(request, reply, async (save) =>
      toQueued(await endpoints.test(partnerOf(request), idOf(request), record(request, "webhook.test", save, toQueued))),
    ),
  );

  addRoute(app, "listDeliveries", async (request): Promise<DeliveryList> => {
    const filter = parseFilter(request.query as Query);
    const rows = await endpoints.deliveries(partnerOf(request), idOf(request), { ...filter, limit: filter.limit + 1 });
    const page = rows.slice(0, filter.limit);
    const last = rows.length > page.length ? page.at(-1) : undefined;
    return { data: page.map(toDelivery), nextCursor: last ? encodeCursor(last) : null };
  });

  addRoute(app, "redeliver", (request, reply) =>
    once(request, reply, async (save) => {
      const { deliveryId } = request.params as { deliveryId: string };
      const recorder = record(request, "webhook.redeliver", save, toQueued);
      return toQueued(await endpoints.redeliver(partnerOf(request), idOf(request), deliveryId, recorder));
    }),
  );
}

const createFaults = faultFinder(CreateWebhook);
const updateFaults = faultFinder(UpdateWebhook);

function parseBody(request: FastifyRequest, faultsOf: (body: Record<string, unknown>) => FieldFault[]): Record<string, unknown> {
  const body = jsonObject(request);
  if (!body) throw bodyFault("Required");
  refuse(faultsOf(body));
  return body;
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

const toDelivery = (row: ListedDelivery): Delivery => ({
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

function parseFilter(query: Query): DeliveryFilter {
  const faults: FieldFault[] = [];
  const filter: DeliveryFilter = { limit: parseLimit(query, faults) };
  const state = single(query, "state", faults);
  if (state === "pending" || state === "delivered" || state === "failed") filter.state = state;
  else if (state !== undefined) faults.push({ field: "state", message: "Must be one of pending, delivered, failed" });
  const cursor = single(query, "cursor", faults);
  const [, time, id] = /^(\d{1,15})\.(dlv_\w{26})$/.exec(Buffer.from(cursor ?? "", "base64url").toString("latin1")) ?? [];
  if (time && id) filter.after = { createdAt: Number(time), id };
  else if (cursor !== undefined) faults.push({ field: "cursor", message: "Must be the nextCursor of an earlier page" });
  if (faults.length > 0) throw new AppError("validation_failed", { details: faults });
  return filter;
}

const encodeCursor = (row: ListedDelivery): string => Buffer.from(`${row.created_at}.${row.id}`).toString("base64url");
const partnerOf = (request: FastifyRequest): string => request.principal.partner.id;
const idOf = (request: FastifyRequest): string => (request.params as { id: string }).id;
