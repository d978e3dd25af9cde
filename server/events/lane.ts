import { DAY, HOUR, MINUTE, SECOND } from "../clock.ts";
import { disableEndpoint, noteFailure, updateEndpoint, type EndpointRow } from "../store/webhook-endpoints.ts";
import {
  headOfLane,
  hurryLanes,
  leaveEmptyLane,
  noteAttempt,
  PARKED,
  parkLanes,
  releaseLane,
  renewLane,
  type DeliveryRow,
  type LaneRow,
} from "../store/webhook-lanes.ts";
import { ATTEMPT_MS, sendMessage, type Outcome } from "./send.ts";
import { signatureHeaders } from "./signature.ts";
import type { WebhooksDeps } from "./webhooks.ts";

// The waits between attempts that Standard Webhooks recommends; after the last the delivery has failed for good.
export const BACKOFF_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
// Longer than an attempt takes; renewed before each.
export const LEASE_MS = 30 * SECOND;
const GIVE_UP_MS = 5 * DAY;

// Works off one lane, whose lease the caller holds: delivery after delivery until one fails or none is left.
export function createLaneRunner({ store, secrets, clock, log, allowPrivate }: WebhooksDeps): (lane: LaneRow) => Promise<void> {
  const { db } = store;

  async function run(lane: LaneRow): Promise<void> {
    let lastSentSeq = -1;
    let { attempt } = lane;
    for (;;) {
      const delivery = await headOfLane(db, lane);
      if (!delivery) return leaveEmptyLane(db, lane, lastSentSeq < 0 ? lane.last_seq : lastSentSeq, clock.now());
      const endpoint = await db.selectFrom("webhook_endpoints").selectAll().where("id", "=", lane.endpoint_id).executeTakeFirst();
      if (endpoint?.state !== "enabled") return releaseLane(db, lane, { attempt, nextAt: PARKED });
      if (!(await renewLane(db, lane, clock.now() + LEASE_MS))) return;
      const outcome = await attemptDelivery(endpoint, delivery);
      if (outcome.ok) {
        await recordSuccess(endpoint, delivery, outcome.status);
      } else {
        const wait = BACKOFF_MS[attempt];
        await recordFailure(endpoint, delivery, outcome, wait === undefined);
        if (wait !== undefined) return releaseLane(db, lane, { attempt: attempt + 1, nextAt: clock.now() + withJitter(wait) });
      }
      attempt = 0;
      lastSentSeq = delivery.seq;
    }
  }

  function attemptDelivery(endpoint: EndpointRow, delivery: DeliveryRow): Promise<Outcome> {
    const open = (sealed: string) => secrets.open(sealed, webhookContext(endpoint.id));
    const keys = [open(endpoint.secret)];
    if (endpoint.old_secret !== null && (endpoint.old_secret_until ?? 0) > clock.now()) keys.push(open(endpoint.old_secret));
    const headers = signatureHeaders({ id: delivery.event_id, body: delivery.payload, atMs: clock.now() }, keys);
    return sendMessage({ url: endpoint.url, headers, body: delivery.payload }, allowPrivate, AbortSignal.timeout(ATTEMPT_MS));
  }

  async function recordSuccess(endpoint: EndpointRow, delivery: DeliveryRow, status: number): Promise<void> {
    await noteAttempt(db, delivery.id, {
      state: "delivered",
      attempts: delivery.attempts + 1,
      last_status: status,
      last_error: null,
      finished_at: clock.now(),
    });
    if (endpoint.failing_since === null) return;
    await updateEndpoint(db, endpoint.id, { failing_since: null });
    await hurryLanes(db, endpoint.id, clock.now());
  }

  async function recordFailure(
    endpoint: EndpointRow,
    delivery: DeliveryRow,
    outcome: Outcome & { ok: false },
    isLast: boolean,
  ): Promise<void> {
    await noteAttempt(db, delivery.id, {
      state: isLast ? "failed" : "pending",
      attempts: delivery.attempts + 1,
      last_status: outcome.status,
      last_error: outcome.error,
      finished_at: isLast ? clock.now() : null,
    });
    const failingSince = await noteFailure(db, endpoint.id, clock.now());
    const reason = outcome.status === 410 ? "gone" : clock.now() - failingSince >= GIVE_UP_MS ? "failing" : null;
    if (reason === null) return;
    await disableEndpoint(db, endpoint.id, reason, clock.now());
    await parkLanes(db, endpoint.id);
    log.warn("webhooks.disabled", { endpointId: endpoint.id, partner: endpoint.partner_id, reason });
  }

  return run;
}

export const webhookContext = (endpointId: string): string => `webhook:${endpointId}`;

// Up to a fifth longer, so that what failed together does not come back together.
const withJitter = (ms: number): number => Math.round(ms * (1 + Math.random() * 0.2));
