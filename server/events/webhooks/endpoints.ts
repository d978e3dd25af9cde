import { AppError, ID_BODY, newId, TEST_EVENT_TYPE, type CreateWebhook, type UpdateWebhook } from "@berth/contract";
import { DAY, type Clock } from "../../clock.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import { lastEventSeq } from "../../store/events.ts";
import type { Store } from "../../store/open.ts";
import type { Db } from "../../store/schema.ts";
import { lockPartner } from "../../store/partners/partners.ts";
import {
  deleteEndpoint,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  lockEndpoint,
  updateEndpoint,
  type EndpointRow,
} from "../../store/webhooks/endpoints.ts";
import {
  countOutOfTurn,
  enqueue,
  findDelivery,
  listDeliveries,
  type DeliveryFilter,
  type DeliveryRow,
  type ListedDelivery,
} from "../../store/webhooks/deliveries.ts";
import { makeLanesDue } from "../../store/webhooks/lanes.ts";
import { webhookContext } from "./delivery/lane.ts";
import { ATTEMPT_MS, isPrivateAddress } from "./delivery/send.ts";
import { newWebhookSecret } from "./delivery/signature.ts";

// The operations of partners on their webhooks. `record` runs in the transaction of a change and receives its result, for the
// audit log and the idempotency store.
export interface Endpoints {
  create(partnerId: string, wanted: CreateWebhook, record: RecordChange<NewEndpoint>): Promise<NewEndpoint>;
  list(partnerId: string): Promise<EndpointRow[]>;
  get(partnerId: string, id: string): Promise<EndpointRow>;
  update(partnerId: string, id: string, change: UpdateWebhook, record: RecordChange<void>): Promise<EndpointRow>;
  remove(partnerId: string, id: string, record: RecordChange<void>): Promise<void>;
  rotate(partnerId: string, id: string, record: RecordChange<NewSecret>): Promise<NewSecret>;
  test(partnerId: string, id: string, record: RecordChange<DeliveryRow>): Promise<DeliveryRow>;
  deliveries(partnerId: string, id: string, filter: DeliveryFilter): Promise<ListedDelivery[]>;
  redeliver(partnerId: string, id: string, deliveryId: string, record: RecordChange<DeliveryRow>): Promise<DeliveryRow>;
}

export type RecordChange<Result> = (tx: Db, endpointId: string, result: Result) => Promise<void>;

export interface NewEndpoint {
  row: EndpointRow;
  secret: string;
}

export interface NewSecret {
  secret: string;
  // Until then messages are also signed with the previous secret.
  oldUntil: number;
}

export interface EndpointsDeps {
  store: Store;
  secrets: Pick<Secrets, "seal">;
  clock: Clock;
  allowPrivate: boolean;
  // Called when a delivery of the partner is queued.
  onQueued: (partnerId: string) => void;
}

// Checked first, because PostgreSQL rejects some strings that a path can contain.
const WEBHOOK_ID = new RegExp(`^whk_${ID_BODY}$`);
const DELIVERY_ID = new RegExp(`^dlv_${ID_BODY}$`);
const MAX_ENDPOINTS = 20;
// Unfinished tests and redeliveries of one endpoint.
const MAX_TESTS = 10;
const MAX_REDELIVERIES = 100;
// The longest time that an attempt takes.
const RETRY_AFTER_SECONDS = ATTEMPT_MS / 1000;
const OVERLAP_MS = DAY;

export function createEndpoints({ store, secrets, clock, allowPrivate, onQueued }: EndpointsDeps): Endpoints {
  async function get(partnerId: string, id: string): Promise<EndpointRow> {
    const row = WEBHOOK_ID.test(id) ? await findEndpoint(store.db, partnerId, id) : undefined;
    if (!row) throw new AppError("webhook_not_found");
    return row;
  }

  // Queues a delivery on a lane of its own, so that it neither waits for other deliveries nor delays them.
  async function queue(
    { id: endpointId, partner_id }: EndpointRow,
    message: Pick<DeliveryRow, "event_id" | "type" | "payload">,
    record: RecordChange<DeliveryRow>,
  ): Promise<DeliveryRow> {
    const nowMs = clock.now();
    const id = newId("dlv", nowMs);
    const outcome = { state: "pending" as const, attempts: 0, last_status: null, last_error: null, finished_at: null };
    const row: DeliveryRow = { id, endpoint_id: endpointId, lane: id, seq: 0, ...message, ...outcome, created_at: nowMs };
    // Checked first without the database's only write lock: a flood of calls that are refused costs others little.
    await checkQueue(store.db, row);
    await store.transaction(async (tx) => {
      if (!(await lockEndpoint(tx, endpointId))) throw new AppError("webhook_not_found");
      await checkQueue(tx, row);
      await enqueue(tx, [row], nowMs);
      await record(tx, endpointId, row);
    });
    onQueued(partner_id);
    return row;
  }

  return {
    get,
    list: (partnerId) => listEndpoints(store.db, partnerId),

    async create(partnerId, { url, types = null, description = "" }, record) {
      checkUrl(url, { allowPrivate });
      const nowMs = clock.now();
      const id = newId("whk", nowMs);
      const secret = newWebhookSecret();
      return store.transaction(async (tx) => {
        await lockPartner(tx, partnerId);
        if ((await listEndpoints(tx, partnerId)).length >= MAX_ENDPOINTS) throw new AppError("webhook_quota");
        const row: EndpointRow = {
          id,
          partner_id: partnerId,
          url,
          description,
          types: types && JSON.stringify(types),
          state: "enabled",
          disabled_reason: null,
          secret: secrets.seal(secret, webhookContext(id)),
          old_secret: null,
          old_secret_until: null,
          cursor_seq: await lastEventSeq(tx, partnerId),
          failing_since: null,
          created_at: nowMs,
          updated_at: nowMs,
        };
        await insertEndpoint(tx, row);
        await record(tx, id, { row, secret });
        return { row, secret };
      });
    },

    async update(partnerId, id, { url, types, description, enabled }, record) {
      const row = await get(partnerId, id);
      if (url !== undefined) checkUrl(url, { allowPrivate });
      const updated = await store.transaction(async (tx) => {
        await record(tx, id);
        // Enabling a failing endpoint gives it another five days.
        const stateChange = enabled
          ? { state: "enabled" as const, disabled_reason: null, failing_since: null }
          : { state: "disabled" as const, disabled_reason: "api" };
        const changed = await updateEndpoint(tx, id, {
          url: url ?? row.url,
          description: description ?? row.description,
          ...(types !== undefined && { types: types && JSON.stringify(types) }),
          ...(enabled !== undefined && enabled !== (row.state === "enabled") && stateChange),
          updated_at: clock.now(),
        });
        if (enabled) await makeLanesDue(tx, id, clock.now());
        return changed;
      });
      if (!updated) throw new AppError("webhook_not_found");
      onQueued(partnerId);
      return updated;
    },

    async remove(partnerId, id, record) {
      await get(partnerId, id);
      await store.transaction(async (tx) => {
        await deleteEndpoint(tx, id);
        await record(tx, id);
      });
    },

    async rotate(partnerId, id, record) {
      const row = await get(partnerId, id);
      const rotated = { secret: newWebhookSecret(), oldUntil: clock.now() + OVERLAP_MS };
      await store.transaction(async (tx) => {
        await updateEndpoint(tx, id, {
          secret: secrets.seal(rotated.secret, webhookContext(id)),
          old_secret: row.secret,
          old_secret_until: rotated.oldUntil,
        });
        await record(tx, id, rotated);
      });
      return rotated;
    },

    async test(partnerId, id, record) {
      const endpoint = await get(partnerId, id);
      const nowMs = clock.now();
      const payload = JSON.stringify({ type: TEST_EVENT_TYPE, timestamp: new Date(nowMs).toISOString(), data: { webhookId: id } });
      return queue(endpoint, { event_id: newId("evt", nowMs), type: TEST_EVENT_TYPE, payload }, record);
    },

    async deliveries(partnerId, id, filter) {
      await get(partnerId, id);
      return listDeliveries(store.db, id, filter);
    },

    async redeliver(partnerId, id, deliveryId, record) {
      const endpoint = await get(partnerId, id);
      const earlier = DELIVERY_ID.test(deliveryId) ? await findDelivery(store.db, id, deliveryId) : undefined;
      if (!earlier) throw new AppError("delivery_not_found");
      const { event_id, type, payload } = earlier;
      return queue(endpoint, { event_id, type, payload }, record);
    },
  };
}

// Limits the deliveries that wait for a receiver that hangs.
async function checkQueue(tx: Db, { endpoint_id, type }: DeliveryRow): Promise<void> {
  const isTest = type === TEST_EVENT_TYPE;
  const waiting = await countOutOfTurn(tx, endpoint_id, { tests: isTest, testType: TEST_EVENT_TYPE });
  if (waiting < (isTest ? MAX_TESTS : MAX_REDELIVERIES)) return;
  throw new AppError("webhook_queue_full", { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

function checkUrl(text: string, { allowPrivate }: { allowPrivate: boolean }): void {
  const refuse = (message: string) => new AppError("validation_failed", { details: [{ field: "url", message }] });
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol)) throw refuse("Must be an https URL");
  if (url.protocol === "http:" && !allowPrivate) throw refuse("Must be an https URL");
  if (url.username || url.password) throw refuse("Must not contain a user name or password");
  if (!allowPrivate && isPrivateAddress(url.hostname)) throw refuse("Must be an address on the public Internet");
}
