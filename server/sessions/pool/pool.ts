import { isAppError } from "@berth/contract";
import { SECOND, type Clock } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import { failpoint } from "../../faults/failpoints.ts";
import type { Log } from "../../log.ts";
import { runWork } from "../../event-loop/loop-work.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import type { Store } from "../../store/open.ts";
import { countBlanks, lockSite } from "../../store/sessions/listing/count.ts";
import { hasSessionIn, sessionsInState } from "../../store/sessions/read.ts";
import type { Blank, Site } from "../../store/sessions/session.ts";
import { insertSession } from "../../store/sessions/write.ts";
import type { Templates } from "../../templates.ts";
import type { Capacity } from "./capacity.ts";
import { createDemand } from "./demand.ts";
import { planFill, type FillPlan } from "./fill-plan.ts";
import { inStep, newBlank } from "./reserve.ts";
import { createRoom, type RoomSearch } from "./room.ts";
import { createWarmShares } from "./warm-shares.ts";
import { kindOf, type Kind } from "../sandbox-spec.ts";
import type { SessionObserver } from "../session-observer.ts";
import { stepOf } from "../states/states.ts";
import type { Steps } from "../steps/steps.ts";
import type { Transitions } from "../states/transitions.ts";

// Blank sandboxes that wait for a session: `size` for every template, and up to `max` after creates that found none. Each has a
// row, so that after a crash they are found and counted again, and there are never more than the limit.
export interface Pool extends AsyncDisposable {
  // Fills the pool, and evicts what no longer fits its template or is no longer needed. Cheap if there is nothing to do. One run
  // at a time.
  fill(): Promise<void>;
  // Fills the pool after a short pause in calls (debounced): creating blanks would slow down the creates that empty the pool.
  fillSoon(): void;
  // Counts a create of a partner that looks for a warm sandbox. Dispose of the result when the create is over. A session with other
  // resources or another egress than its template cannot use the pool, so it is not counted.
  look(kind: Kind, partnerId: string): Look;
  // How many blanks of a template the pool holds when it is full.
  targets(): ReadonlyMap<string, number>;
  // For a resume that found no room. True if a blank was evicted. The pool creates no blanks for a while.
  makeRoom(): Promise<boolean>;
}

export interface Look extends Disposable {
  // How many warm sandboxes the create has to leave to other partners.
  keep(): number;
  // Whether there was a warm sandbox. A create that found none may still get one later.
  found(result: "warm" | "none"): void;
  // For a create that found no room (see `RoomSearch`). The pool creates no blanks for a while.
  makeRoom(): ReturnType<RoomSearch["make"]>;
  // The same while its sandbox waits for room.
  makeRoomEarly(): Promise<void>;
  // Its sandbox has room.
  gotRoom(): void;
}

const FILLING = { name: "pool" };
const DEBOUNCE_MS = 150;
// With calls all the time, the pool is filled after this long anyway.
const MAX_DEBOUNCE_MS = 1000;
// How long the pool creates no blanks after there was no room for a caller, or for a blank.
const HOLD_OFF_MS = 30 * SECOND;
// Blanks that a run evicts because the demand has ended. There is a run every few seconds.
const SHRINK_AT_ONCE = 10;

export interface PoolDeps {
  store: Store;
  transitions: Pick<Transitions, "lease" | "isOwn">;
  steps: Steps;
  driver: Pick<Driver, "traits" | "roomOf" | "isFull" | "images">;
  templates: Templates;
  capacity: Capacity;
  site: Site;
  secrets: Secrets;
  clock: Clock;
  log: Log;
  observer: Pick<SessionObserver, "looked">;
  size: number;
  max: number;
  // How many blanks of a kind are created at a time.
  parallel: number;
}

export function createPool(deps: PoolDeps): Pool {
  const { store, transitions, steps, driver, templates, capacity, site, clock, log, observer, size, parallel } = deps;
  const max = Math.max(size, deps.max);
  const demand = createDemand({ clock, size, max });
  const shares = createWarmShares({ clock });
  const room = createRoom({ store, transitions, driver, site, evict });
  const targets = new Map<string, number>();
  let filling: Promise<void> | undefined;
  let again = false;
  let closed = false;
  let debounce: NodeJS.Timeout | undefined;
  let debouncingSinceMs = 0;
  let heldOffUntilMs = 0;

  function fillSoon(): void {
    if (closed) return;
    if (debounce === undefined) debouncingSinceMs = performance.now();
    clearTimeout(debounce);
    const untilForcedMs = Math.max(0, MAX_DEBOUNCE_MS - (performance.now() - debouncingSinceMs));
    debounce = setTimeout(
      () => {
        debounce = undefined;
        fill().catch((error: unknown) => log.error("pool.failed", { error: String(error) }));
      },
      Math.min(DEBOUNCE_MS, untilForcedMs),
    );
  }

  function fill(): Promise<void> {
    if (filling) again = true;
    filling ??= runWork(FILLING, run).finally(() => (filling = undefined));
    return filling;
  }

  async function run(): Promise<void> {
    do {
      again = false;
      const plan = await makePlan();
      for (const blank of plan.evictNow) await evict(blank);
      // The minimum of every template comes first, then the growth by demand.
      for (const { kind, have } of plan.targets) if (have < size && !(await create(kind, size))) return;
      for (const { kind, have, target } of plan.targets) if (have < target && !(await grow(kind, target))) return;
      for (const blank of plan.shrink.slice(0, SHRINK_AT_ONCE)) if (!again && !closed) await evict(blank);
    } while (again && !closed);
  }

  async function makePlan(): Promise<FillPlan> {
    const blanks = await sessionsInState(store.db, site, ["warming", "warm"]);
    // The volumes of a template belong to a partner, and a warm sandbox to none.
    const pooled = [...templates.values()].filter(({ image, volumes = [] }) => volumes.length === 0 && hasImage(image));
    const kinds = pooled.map((template) => kindOf(template, driver));
    const [room, excess] = [capacity.roomForBlanks(blanks.length), await capacity.excess(store.db)];
    const plan = planFill({ blanks, kinds, nowMs: clock.now(), size, max, demandFor: demand.targetOf, room, excess });
    for (const { kind, have, target } of plan.targets) {
      targets.set(kind.template.name, target);
      if (have < target) continue;
      demand.full(kind.template.name);
      shares.full(kind.template.name);
    }
    return plan;
  }

  // Without its image, no sandbox can be started.
  function hasImage(image: string | undefined): boolean {
    const found = image === undefined ? undefined : driver.images?.stateOf?.(image);
    return found === undefined || found.state === "ready";
  }

  // Creates blanks until there are `target`. False: do not go on now.
  async function create(kind: Kind, target: number, mayGoOn = async () => true): Promise<boolean> {
    let stopped = false;
    const lane = async () => {
      while (!closed && !stopped && (await mayGoOn())) {
        // Programs of the sandboxes that were just taken come first.
        await capacity.untilIdle();
        const outcome = await warm(kind, target);
        if (outcome === "enough") return;
        stopped ||= outcome === "failed";
      }
    };
    await Promise.all(Array.from({ length: Math.min(parallel, target) }, lane));
    return !stopped;
  }

  // Callers come first: as long as a create waits, on any server of this site, or the machine is busy, the pool does not grow.
  const grow = (kind: Kind, target: number) =>
    create(kind, target, async () => !again && !capacity.isBusy() && !(await hasSessionIn(store.db, site, "creating")));

  // True if its room is free now.
  async function evict(blank: Blank): Promise<boolean> {
    const step = await steps.begin(blank, "evict");
    if (!step) return false;
    return await steps.perform(step).then(
      () => true,
      () => false,
    );
  }

  function holdOff(): void {
    heldOffUntilMs = clock.now() + HOLD_OFF_MS;
  }

  async function warm(kind: Kind, target: number): Promise<"made" | "enough" | "failed"> {
    // A blank would take room from a create that waits for it, on any server.
    if (clock.now() < heldOffUntilMs || driver.isFull?.()) return "failed";
    try {
      const blank = await store.transaction(async (tx) => {
        if (store.engine === "postgres") await lockSite(tx, site);
        if ((await countBlanks(tx, { template: kind.template.name, templateHash: kind.templateHash, site })) >= target) return null;
        await capacity.admitBlank(tx);
        return insertSession(tx, newBlank({ ...deps, lease: transitions.lease }, kind, stepOf("fill", "absent")));
      });
      if (!blank) return "enough";
      failpoint("warming.begun");
      await steps.perform({ session: inStep(blank) }).catch((error: unknown) => {
        if (isAppError(error, "capacity_reached")) holdOff();
        throw error;
      });
      shares.replaced(kind.template.name);
      return "made";
    } catch (error) {
      if (!isAppError(error, "capacity_reached")) log.warn("pool.fill_failed", { template: kind.template.name, error: String(error) });
      return "failed";
    }
  }

  function look(kind: Kind, partnerId: string): Look {
    const { name: template } = kind.template;
    const search = room.seek(kind);
    let isWithoutRoom = false;
    const without = <Result>(make: () => Result): Result => {
      isWithoutRoom = true;
      holdOff();
      return make();
    };
    const withRoom = {
      makeRoom: () => without(search.make),
      makeRoomEarly: () => without(search.makeEarly),
      gotRoom: search.end,
    };
    if (size === 0 || templates.get(template) !== kind.template)
      return { ...withRoom, keep: () => 0, found: () => {}, [Symbol.dispose]: () => search[Symbol.dispose]() };
    let found: "warm" | "none" | undefined;
    let waiting: Disposable | undefined;
    shares.take(template, partnerId);
    return {
      ...withRoom,
      // Without room for a new sandbox, there is nothing to leave to other partners.
      keep: () => Math.max(search.promised(), isWithoutRoom ? 0 : shares.keptFrom(template, partnerId, targets.get(template) ?? size)),
      found(result) {
        if (found === undefined) {
          observer.looked(template, result);
          demand.taken(template);
          if (result === "none") waiting = demand.missed(template, { partnerId, partners: shares.partners(template) });
        }
        found = result;
      },
      [Symbol.dispose]() {
        search[Symbol.dispose]();
        waiting?.[Symbol.dispose]();
        if (found !== "warm") shares.release(template, partnerId);
      },
    };
  }

  return {
    fill,
    fillSoon,
    makeRoom() {
      holdOff();
      return room.make();
    },
    look,
    targets: () => targets,
    async [Symbol.asyncDispose]() {
      closed = true;
      clearTimeout(debounce);
      await filling?.catch(() => {});
    },
  };
}
