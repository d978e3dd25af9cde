import { paged, type Paged } from "../http/paging.ts";
import { readJson, type Transport } from "../http/transport.ts";
import type { CreateWebhook, Delivery, Page, UpdateWebhook, Webhook } from "../types/api-types.ts";

// Manages webhooks. Use `verifyWebhook` in the receiver.
export interface Webhooks {
  // This is the only response with the secret.
  create(request: CreateWebhook): Promise<Webhook & { secret: string }>;
  list(): Promise<Webhook[]>;
  get(id: string): Promise<Webhook>;
  update(id: string, changes: UpdateWebhook): Promise<Webhook>;
  remove(id: string): Promise<void>;
  // For 24 hours, requests are signed with both secrets, so that you can switch.
  rotateSecret(id: string): Promise<{ secret: string; previousSecretExpiresAt: string }>;
  // Sends an event of the type `webhook.test`.
  test(id: string): Promise<Delivery>;
  deliveries(id: string, filter?: { state?: Delivery["state"]; pageSize?: number }): Paged<Delivery>;
  redeliver(id: string, deliveryId: string): Promise<Delivery>;
}

const PATH = "/api/b2b/webhooks";

const at = (...parts: string[]) => [PATH, ...parts.map(encodeURIComponent)].join("/");

export function createWebhooks(send: Transport): Webhooks {
  const post = <T>(url: string, json?: unknown) => readJson<T>(send({ method: "POST", url, json, idempotencyKey: true, repeatable: true }));

  return {
    create: (request) => post(PATH, request),
    list: async () => (await readJson<Page<Webhook>>(send({ method: "GET", url: PATH }))).data,
    get: (id) => readJson(send({ method: "GET", url: at(id) })),
    update: (id, changes) => readJson(send({ method: "PATCH", url: at(id), json: changes })),
    async remove(id) {
      await send({ method: "DELETE", url: at(id) });
    },
    rotateSecret: (id) => post(at(id, "rotate-secret")),
    test: (id) => post(at(id, "test")),
    deliveries: (id, { state, pageSize } = {}) =>
      paged((cursor) => readJson(send({ method: "GET", url: at(id, "deliveries"), query: { state, limit: pageSize, cursor } }))),
    redeliver: (id, deliveryId) => post(at(id, "deliveries", deliveryId, "redeliver")),
  };
}
