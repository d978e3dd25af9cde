import { TEST_EVENT_TYPE } from "@berth/contract";
import { DAY, HOUR, MINUTE, SECOND, type Clock } from "../../../clock.ts";
import type { Log } from "../../../log.ts";
import type { Secrets } from "../../../secrets/secrets.ts";
import type { Store } from "../../../store/open.ts";
import { disableEndpoint, endpointOfLane, noteFailure, updateEndpoint, type EndpointRow } from "../../../store/webhooks/endpoints.ts";
import { headOfLane, noteAttempt, type DeliveryRow } from "../../../store/webhooks/deliveries.ts";
import { makeLanesDue, removeEmptyLane, releaseLane, renewLane, type LaneRow } from "../../../store/webhooks/lanes.ts";
import type { FinishedAttempt, WebhookObserver } from "../webhook-observer.ts";
import type { Tracer } from "../../../tracing/tracer.ts";
import { formatTraceparent } from "../../../tracing/trace-context.ts";
import { ATTEMPT_MS, sendMessage, type Outcome } from "./send.ts";
import { signatureHeaders } from "./signature.ts";

// The delays between attempts that Standard Webhooks recommends. After the last one the delivery has failed.
export const BACKOFF_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
// Longer than an attempt. Renewed when too little time is left for another one.
export const LEASE_MS = 30 * SECOND;
const RENEW_MS = 20 * SECOND;
// After these, another lane of the endpoint gets its turn.
const DELIVERIES_PER_TURN = 20;
const GIVE_UP_MS = 5 * DAY;

// Whether the lane has more deliveries to send at once, or waits for a retry or a new event.
export type LaneResult = "due" | "waits";

export interface LaneRunnerDeps {
  store: Store;
  secrets: Pick<Secrets, "open">;
  clock: Clock;
  log: Log;
  // Whether a receiver may have a private address.
  allowPrivate: boolean;
  observer?: WebhookObserver;
  // Absent: attempts are not traced.
  tracer?: Pick<Tracer, "start">;
}

// Sends the deliveries of one lane in order, until one fails, none is left or the turn ends. The caller holds the lane's lease.
export function createLaneRunner(deps: LaneRunnerDeps): (lane: LaneRow) => Promise<LaneResult> {
  const { store, secrets, clock, log, allowPrivate, observer, tracer } = deps;
  // Nothing here has to be on disk before the next step. If a power cut undoes a change, the delivery is sent again.
  const db = store.laterDb;

  async function run(lane: LaneRow): Promise<LaneResult> {
    let lastSentSeq = -1;
    let { attempt, lease_until: leaseUntil } = lane;
    for (let sent = 0; sent < DELIVERIES_PER_TURN; sent++) {
      const delivery = await headOfLane(db, lane);
      if (!delivery) {
        await removeEmptyLane(db, lane, lastSentSeq < 0 ? lane.last_seq : lastSentSeq, clock.now());
        return "waits";
      }
      const endpoint = await endpointOfLane(db, lane);
      if (endpoint?.state !== "enabled") return release(lane, attempt, 0);
      if (leaseUntil - clock.now() < RENEW_MS) {
        leaseUntil = clock.now() + LEASE_MS;
        if (!(await renewLane(db, lane, leaseUntil))) return "waits";
      }
      const startedMs = performance.now();
      const outcome = await attemptDelivery(endpoint, delivery);
      const note = (result: FinishedAttempt["outcome"]) => observe(delivery, result, startedMs);
      if (outcome.ok) {
        note("delivered");
        await recordSuccess(endpoint, delivery, outcome.status);
      } else {
        // Tests are not retried, because a person waits for the result.
        const wait = delivery.type === TEST_EVENT_TYPE ? undefined : BACKOFF_MS[attempt];
        note(wait === undefined ? "failed" : "retried");
        await recordFailure(endpoint, delivery, outcome, { isLast: wait === undefined });
        if (wait !== undefined) return release(lane, attempt + 1, withJitter(wait));
      }
      attempt = 0;
      lastSentSeq = delivery.seq;
    }
    await release(lane, attempt, 0);
    return "due";
  }

  async function release(lane: LaneRow, attempt: number, waitMs: number): Promise<"waits"> {
    await releaseLane(db, lane, { attempt, nextAt: clock.now() + waitMs });
    return "waits";
  }

  // Each attempt is a trace of its own, which the receiver may continue: an event has many causes, and retries last for days.
  async function attemptDelivery(endpoint: EndpointRow, delivery: DeliveryRow): Promise<Outcome> {
    const open = (sealed: string) => secrets.open(sealed, webhookContext(endpoint.id));
    const keys = [open(endpoint.secret)];
    if (endpoint.old_secret !== null && (endpoint.old_secret_until ?? 0) > clock.now()) keys.push(open(endpoint.old_secret));
    const span = tracer?.start("webhook attempt", "client");
    const headers = {
      ...signatureHeaders({ id: delivery.event_id, body: delivery.payload, atMs: clock.now() }, keys),
      ...(span && { traceparent: formatTraceparent(span) }),
    };
    const message = { url: endpoint.url, headers, body: delivery.payload };
    const outcome = await sendMessage(message, { allowPrivate, signal: AbortSignal.timeout(ATTEMPT_MS) });
    span?.end({
      attributes: {
        "berth.event_id": delivery.event_id,
        "berth.event_type": delivery.type,
        "berth.attempt": delivery.attempts + 1,
        "http.response.status_code": outcome.status ?? undefined,
      },
      error: outcome.ok ? undefined : String(outcome.status ?? "no_answer"),
    });
    return outcome;
  }

  function observe({ created_at }: DeliveryRow, outcome: FinishedAttempt["outcome"], startedMs: number): void {
    const delaySeconds = Math.max(0, clock.now() - created_at) / 1000;
    observer?.attempted({ outcome, seconds: (performance.now() - startedMs) / 1000, delaySeconds });
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
    await makeLanesDue(db, endpoint.id, clock.now());
  }

  async function recordFailure(
    endpoint: EndpointRow,
    delivery: DeliveryRow,
    outcome: Outcome & { ok: false },
    { isLast }: { isLast: boolean },
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
    log.warn("webhooks.disabled", { endpointId: endpoint.id, partner: endpoint.partner_id, reason });
  }

  return run;
}

export const webhookContext = (endpointId: string): string => `webhook:${endpointId}`;

// Adds up to 20 %, so that deliveries that failed together are not retried together.
const withJitter = (ms: number): number => Math.round(ms * (1 + Math.random() * 0.2));
