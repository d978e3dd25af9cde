import { setImmediate as nextTurn } from "node:timers/promises";
import { MINUTE, SECOND } from "../../clock.ts";
import { claimDueLane, findDueEndpoints, type DueEndpoint, type LaneRow } from "../../store/webhooks/lanes.ts";
import { createFanOut } from "./fan-out.ts";
import { createLaneSlots } from "./delivery/lane-slots.ts";
import { createLaneRunner, LEASE_MS, type LaneRunnerDeps } from "./delivery/lane.ts";
import { purgeOutbox } from "./purge.ts";

// Sends events to the partners' webhooks: at least once, in order for each session, across restarts and with any number of
// servers. Events are first queued on lanes; then each due lane is sent by the server that holds its lease. Partners take turns
// in both, and each has its share of the lanes that send at the same time.
export interface Webhooks extends AsyncDisposable {
  // Checks for work of the partner now, and not at the next tick. Call it when the partner's sessions or webhooks change.
  wake(partnerId: string): void;
  tick(): Promise<void>;
  // Resolves when no lane is sending.
  settled(): Promise<void>;
}

export interface WebhooksDeps extends LaneRunnerDeps {
  // Identifies this process in leases.
  owner: string;
}

const TICK_MS = SECOND;
const PURGE_MS = MINUTE;
// The caller whose change wakes us gets its response first, and many changes at once need one check.
const GATHER_MS = 20;

export function createWebhooks(deps: WebhooksDeps): Webhooks {
  const { store, clock, log, owner } = deps;
  const runLane = createLaneRunner(deps);
  const slots = createLaneSlots();
  const fanOut = createFanOut({ store, clock, onQueued: startLanes });
  const running = new Set<Promise<void>>();
  // The partners that the next check is about, or all of them.
  const woken = new Set<string>();
  let everyone = false;
  // Lanes were due, but no slot was free.
  let isFull = false;
  // Partners whose events wait until some of their deliveries finish.
  const heldBack = new Set<string>();
  let closed = false;
  let checking: Promise<void> | undefined;

  async function check(): Promise<void> {
    const partnerIds = everyone ? undefined : [...woken];
    everyone = false;
    woken.clear();
    for (const id of partnerIds ?? heldBack) heldBack.delete(id);
    const result = await fanOut(partnerIds);
    for (const id of result.heldBack) heldBack.add(id);
    await startLanes();
    if (!result.hasMore) return;
    if (partnerIds) for (const id of partnerIds) woken.add(id);
    else everyone = true;
  }

  // Starts one due lane of every partner, then a second one, and so on. The partner with the fewest lanes comes first.
  async function startLanes(): Promise<void> {
    isFull = false;
    const due = Map.groupBy(await findDueEndpoints(store.db, { nowMs: clock.now() }), ({ partner_id }) => partner_id);
    let partners = [...due.entries()].map(([id, endpoints]) => ({ id, endpoints }));
    while (partners.length > 0) {
      partners = partners.toSorted((a, b) => slots.ofPartner(a.id) - slots.ofPartner(b.id));
      for (const partner of partners) partner.endpoints = await startOneLane(partner.endpoints);
      partners = partners.filter(({ endpoints }) => endpoints.length > 0);
      // SQLite runs synchronously in this thread, so other work gets a turn here.
      await nextTurn();
    }
  }

  // Starts a lane of the first endpoint that has one due. Returns the endpoints that may have more, in round-robin order.
  async function startOneLane(endpoints: DueEndpoint[]): Promise<DueEndpoint[]> {
    const withRoom = endpoints.filter(slots.hasRoom);
    if (withRoom.length < endpoints.length) isFull = true;
    for (const [index, endpoint] of withRoom.entries()) {
      const nowMs = clock.now();
      const lane = await claimDueLane(store.laterDb, endpoint.id, { owner, nowMs, untilMs: nowMs + LEASE_MS });
      if (!lane) continue;
      start(endpoint, lane);
      return [...withRoom.slice(index + 1), endpoint];
    }
    return [];
  }

  function start(endpoint: DueEndpoint, lane: LaneRow): void {
    const freeSlot = slots.take(endpoint);
    const run = runLane(lane)
      .catch((error: unknown) => {
        log.warn("webhooks.lane_failed", { endpointId: lane.endpoint_id, error: String(error) });
        return "waits" as const;
      })
      .then((result) => {
        freeSlot();
        running.delete(run);
        if (isFull || result === "due" || heldBack.has(endpoint.partner_id)) wake(endpoint.partner_id);
      });
    running.add(run);
  }

  // Runs one check at a time. A wake during a check causes another one.
  async function checkUntilDone(): Promise<void> {
    checking ??= (async () => {
      while (isWoken()) await check();
    })()
      .catch((error: unknown) => log.warn("webhooks.tick_failed", { error: String(error) }))
      .finally(() => {
        checking = undefined;
        if (isWoken()) void checkUntilDone();
      });
    await checking;
  }

  const isWoken = (): boolean => (everyone || woken.size > 0) && !closed;

  function wake(partnerId: string): void {
    woken.add(partnerId);
    void checkUntilDone();
  }

  let gathering: NodeJS.Timeout | undefined;
  const gathered = new Set<string>();

  function wakeSoon(partnerId: string): void {
    gathered.add(partnerId);
    gathering ??= setTimeout(wakeGathered, GATHER_MS);
  }

  function wakeGathered(): void {
    clearTimeout(gathering);
    gathering = undefined;
    for (const partnerId of gathered) wake(partnerId);
    gathered.clear();
  }

  async function tick(): Promise<void> {
    everyone = true;
    await checkUntilDone();
  }

  async function settled(): Promise<void> {
    wakeGathered();
    await checking;
    while (running.size > 0) await Promise.all(running);
  }

  const ticks = clock.every(TICK_MS, tick);
  const purges = clock.every(PURGE_MS, () =>
    purgeOutbox(store.db, clock.now()).catch((error: unknown) => log.warn("webhooks.purge_failed", { error: String(error) })),
  );
  return {
    wake: wakeSoon,
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
