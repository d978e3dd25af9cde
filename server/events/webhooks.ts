import { newId } from "@berth/contract";
import { DAY, MINUTE, SECOND, type Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Secrets } from "../secrets.ts";
import { eventsAfter, purgeEvents, type StoredEvent } from "../store/events.ts";
import type { Store } from "../store/open.ts";
import { endpointsBehind, moveCursor, type EndpointRow } from "../store/webhook-endpoints.ts";
import { claimLane, dueLanes, enqueue, purgeDeliveries, type LaneRow } from "../store/webhook-lanes.ts";
import { createLaneRunner, LEASE_MS } from "./lane.ts";

// Sends events to partners: at least once, in order for each session, over restarts and with any number of servers.
// First events are put into lanes, then every lane that is due is worked off by whoever holds its lease.
export interface Webhooks extends AsyncDisposable {
  // Something has happened: look now rather than at the next tick.
  wake(): void;
  tick(): Promise<void>;
  // Resolves when nothing is being sent.
  settled(): Promise<void>;
}

export interface WebhooksDeps {
  store: Store;
  secrets: Pick<Secrets, "open">;
  clock: Clock;
  log: Log;
  // Names this process.
  owner: string;
  allowPrivate: boolean;
}

const TICK_MS = SECOND;
const PURGE_MS = MINUTE;
const LANES_AT_ONCE = 32;
// A receiver that hangs holds up its own partner and nobody else.
const LANES_PER_ENDPOINT = 4;
const FAN_OUT_BATCH = 200;
const KEPT_MS = 30 * DAY;

export function createWebhooks(deps: WebhooksDeps): Webhooks {
  const { store, clock, log, owner } = deps;
  const runLane = createLaneRunner(deps);
  // What is being sent, and to which endpoint.
  const running = new Map<Promise<void>, string>();
  let closed = false;
  let ticking: Promise<void> | undefined;
  let again = false;

  async function fanOut(endpoint: EndpointRow): Promise<void> {
    const events = await eventsAfter(store.db, endpoint.partner_id, endpoint.cursor_seq, FAN_OUT_BATCH);
    const last = events.at(-1);
    if (!last) return;
    const types = endpoint.types === null ? null : new Set(JSON.parse(endpoint.types) as string[]);
    const wanted = types ? events.filter(({ type }) => types.has(type)) : events;
    await store.transaction(async (tx) => {
      if (!(await moveCursor(tx, endpoint, last.seq))) return;
      await enqueue(
        tx,
        wanted.map((event) => toDelivery(endpoint.id, event, clock.now())),
        clock.now(),
      );
    });
  }

  async function look(): Promise<void> {
    for (const endpoint of await endpointsBehind(store.db, 100)) await fanOut(endpoint);
    while (running.size < LANES_AT_ONCE) {
      const due = await dueLanes(store.db, clock.now(), endpointsWithTheirShare(), LANES_AT_ONCE);
      const next = due.find(({ endpoint_id }) => lanesOf(endpoint_id) < LANES_PER_ENDPOINT);
      if (!next) return;
      for (const lane of due) if (running.size < LANES_AT_ONCE && lanesOf(lane.endpoint_id) < LANES_PER_ENDPOINT) await start(lane);
    }
  }

  async function start(seen: LaneRow): Promise<void> {
    const lane = await claimLane(store.db, seen, owner, clock.now() + LEASE_MS);
    if (!lane) return;
    const run = runLane(lane)
      .catch((error: unknown) => log.warn("webhooks.lane_failed", { endpointId: lane.endpoint_id, error: String(error) }))
      .finally(() => {
        const isFull = running.size === LANES_AT_ONCE || lanesOf(lane.endpoint_id) === LANES_PER_ENDPOINT;
        running.delete(run);
        // There may be more than there was room for.
        if (isFull) wake();
      });
    running.set(run, lane.endpoint_id);
  }

  const lanesOf = (endpointId: string): number => [...running.values()].filter((id) => id === endpointId).length;
  const endpointsWithTheirShare = (): string[] => [...new Set(running.values())].filter((id) => lanesOf(id) >= LANES_PER_ENDPOINT);

  // One look at a time; a wake during one leads to another.
  async function tick(): Promise<void> {
    again = true;
    ticking ??= (async () => {
      while (again && !closed) {
        again = false;
        await look();
      }
    })()
      .catch((error: unknown) => log.warn("webhooks.tick_failed", { error: String(error) }))
      .finally(() => (ticking = undefined));
    await ticking;
  }

  const wake = (): void => void tick();

  async function settled(): Promise<void> {
    await ticking;
    while (running.size > 0) await Promise.all(running.keys());
  }

  async function purge(): Promise<void> {
    await purgeDeliveries(store.db, clock.now() - KEPT_MS, 1000);
    await purgeEvents(store.db, clock.now() - KEPT_MS, 1000);
  }

  const ticks = clock.every(TICK_MS, tick);
  const purges = clock.every(PURGE_MS, () =>
    purge().catch((error: unknown) => log.warn("webhooks.purge_failed", { error: String(error) })),
  );
  return {
    wake,
    tick,
    settled,
    async [Symbol.asyncDispose]() {
      closed = true;
      await ticks[Symbol.asyncDispose]();
      await purges[Symbol.asyncDispose]();
      await settled();
    },
  };
}

const toDelivery = (endpointId: string, event: StoredEvent, nowMs: number) => ({
  id: newId("dlv", nowMs),
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
