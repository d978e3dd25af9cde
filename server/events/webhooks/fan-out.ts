import { setImmediate as nextTurn } from "node:timers/promises";
import { newId } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import { eventsAfter, type StoredEvent } from "../../store/events.ts";
import type { Store } from "../../store/open.ts";
import { countPending, enqueue } from "../../store/webhooks/deliveries.ts";
import { ENDPOINTS_PER_WINDOW, endpointsBehind, moveCursor, type EndpointRow } from "../../store/webhooks/endpoints.ts";

export interface FanOutDeps {
  store: Store;
  clock: Clock;
  // Called after each turn, so that sending starts while more deliveries are queued.
  onQueued(): Promise<void>;
}

// An endpoint with this many pending deliveries gets no more for now. Its events stay in the outbox, which stores them once for
// all endpoints of the partner, until deliveries finish.
export const MAX_PENDING = 5_000;
const EVENTS_PER_BATCH = 100;

// Queues events as deliveries on the lanes of the endpoints that subscribe to them: one batch for each endpoint that is behind,
// of the given partners or of all.
export type FanOut = (partnerIds?: readonly string[]) => Promise<FanOutResult>;

export interface FanOutResult {
  // There are more events that can be queued.
  hasMore: boolean;
  // Partners with an endpoint that has too many pending deliveries.
  heldBack: Set<string>;
}

type BatchResult = "more" | "done" | "held_back";

export function createFanOut({ store, clock, onQueued }: FanOutDeps): FanOut {
  async function fanOutBatch(endpoint: EndpointRow): Promise<BatchResult> {
    if ((await countPending(store.db, endpoint.id, MAX_PENDING)) >= MAX_PENDING) return "held_back";
    const events = await eventsAfter(store.db, endpoint.partner_id, endpoint.cursor_seq, EVENTS_PER_BATCH);
    const last = events.at(-1);
    if (!last) return "done";
    const types = endpoint.types === null ? null : new Set(JSON.parse(endpoint.types) as string[]);
    const wanted = types ? events.filter(({ type }) => types.has(type)) : events;
    const nowMs = clock.now();
    await store.transaction(async (tx) => {
      // Another server may have queued them already.
      if (!(await moveCursor(tx, endpoint, last.seq))) return;
      // Lists are ordered by id where the time is the same.
      const ids = wanted.map(() => newId("dlv", nowMs)).toSorted();
      const deliveries = wanted.map((event, at) => toDelivery(ids[at]!, endpoint.id, event, nowMs));
      await enqueue(tx, deliveries, nowMs);
    });
    return events.length === EVENTS_PER_BATCH ? "more" : "done";
  }

  return async (partnerIds) => {
    const result: FanOutResult = { hasMore: false, heldBack: new Set() };
    let afterId = "";
    for (;;) {
      const window = await endpointsBehind(store.db, { ...(partnerIds && { partnerIds }), afterId });
      for (const turn of turnsByPartner(window)) {
        for (const endpoint of turn) {
          const batch = await fanOutBatch(endpoint);
          if (batch === "more") result.hasMore = true;
          if (batch === "held_back") result.heldBack.add(endpoint.partner_id);
          // SQLite runs synchronously in this thread, so other work gets a turn here.
          await nextTurn();
        }
        await onQueued();
      }
      if (window.length < ENDPOINTS_PER_WINDOW) return result;
      afterId = window.at(-1)?.id ?? "";
    }
  };
}

// Round robin: the first endpoint of every partner, then the second of every partner, and so on.
function turnsByPartner<Endpoint extends { partner_id: string }>(endpoints: Endpoint[]): Endpoint[][] {
  const turns: Endpoint[][] = [];
  for (const own of Map.groupBy(endpoints, ({ partner_id }) => partner_id).values())
    for (const [turn, endpoint] of own.entries()) (turns[turn] ??= []).push(endpoint);
  return turns;
}

const toDelivery = (id: string, endpointId: string, event: StoredEvent, nowMs: number) => ({
  id,
  endpoint_id: endpointId,
  lane: event.sessionId,
  seq: event.seq,
  event_id: event.id,
  type: event.type,
  payload: JSON.stringify({ type: event.type, timestamp: new Date(event.at).toISOString(), data: event.data }),
  state: "pending" as const,
  attempts: 0,
  last_status: null,
  last_error: null,
  created_at: nowMs,
  finished_at: null,
});
