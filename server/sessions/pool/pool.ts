import { isAppError } from "@berth/contract";
import { SECOND, type Clock } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import { failpoint } from "../../faults/failpoints.ts";
import type { Log } from "../../log.ts";
import { runWork } from "../../event-loop/loop-work.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import type { Store } from "../../store/open.ts";
import { sessionsInState } from "../../store/sessions/read.ts";
import type { Blank, Home } from "../../store/sessions/session.ts";
import { insertSession } from "../../store/sessions/write.ts";
import { templateHash, type Templates } from "../../templates.ts";
import type { Capacity } from "./capacity.ts";
import { inStep, newBlank, type Kind } from "./reserve.ts";
import { stepOf } from "../states.ts";
import type { Steps } from "../steps.ts";
import type { Transitions } from "../transitions.ts";

// Blank sandboxes that wait for a session, `size` for every template. Each has a row, so that after a crash they are found and
// counted again, and there are never more than the limit.
export interface Pool extends AsyncDisposable {
  // Fills the pool and evicts what no longer fits its template. Cheap if there is nothing to do. One run at a time.
  fill(): Promise<void>;
  // Fills the pool after a short pause in calls (debounced): creating blanks would slow down the creates that empty the pool.
  fillSoon(): void;
  // For a create (of this kind) or a resume that found no room. True: try again, because a blank of its kind is warm or about
  // to be, or because one of another kind was evicted. The pool creates no blanks for a while.
  makeRoom(kind?: Kind): Promise<boolean>;
}

const FILLING = { name: "pool" };
const DEBOUNCE_MS = 150;
// With calls all the time, the pool is filled after this long anyway.
const MAX_DEBOUNCE_MS = 1000;
// How long the pool creates no blanks after there was no room for a caller, or for a blank.
const HOLD_OFF_MS = 30 * SECOND;

export interface PoolDeps {
  store: Store;
  transitions: Pick<Transitions, "lease">;
  steps: Steps;
  driver: Pick<Driver, "traits">;
  templates: Templates;
  capacity: Capacity;
  home: Home;
  secrets: Secrets;
  clock: Clock;
  log: Log;
  size: number;
}

export function createPool(deps: PoolDeps): Pool {
  const { store, transitions, steps, driver, templates, capacity, home, clock, log, size } = deps;
  let filling: Promise<void> | undefined;
  let again = false;
  let closed = false;
  let debounce: NodeJS.Timeout | undefined;
  let debouncingSinceMs = 0;
  let heldOffUntilMs = 0;

  function fillSoon(): void {
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
      const waiting = await sessionsInState(store.db, home, ["warming", "warm"]);
      const kinds = [...templates.values()].map((template) => ({ template, templateHash: templateHash(template, driver.traits.recipe) }));
      const fits = (blank: Blank) => kinds.some((kind) => isOfKind(blank, kind));
      for (const blank of surplus(waiting, fits, await capacity.excess(store.db))) await evict(blank);
      for (const kind of kinds) {
        const have = waiting.filter((blank) => isOfKind(blank, kind)).length;
        for (let missing = size - have; missing > 0 && !closed; missing--) if (!(await warm(kind))) return;
      }
    } while (again && !closed);
  }

  // Warm blanks of an outdated template, beyond the pool's size, or beyond the limit of sandboxes.
  function surplus(blanks: Blank[], fits: (blank: Blank) => boolean, excess: number): Blank[] {
    const counts = new Map<string, number>();
    let spare = excess;
    return blanks.filter((blank) => {
      if (blank.state !== "warm") return false;
      const count = (counts.get(blank.template) ?? 0) + (fits(blank) ? 1 : 0);
      counts.set(blank.template, count);
      const isSurplus = !fits(blank) || count > size || spare > 0;
      if (isSurplus) spare--;
      return isSurplus;
    });
  }

  // True if its room is free now.
  async function evict(blank: Blank): Promise<boolean> {
    const step = await steps.begin(blank, "evict");
    if (!step) return false;
    return await steps.perform(step).then(
      () => true,
      () => false,
    );
  }

  async function makeRoom(kind?: Kind): Promise<boolean> {
    heldOffUntilMs = clock.now() + HOLD_OFF_MS;
    const blanks = await sessionsInState(store.db, home, ["warm", "warming"]);
    if (kind && blanks.some((blank) => isOfKind(blank, kind))) return true;
    // Warm ones first: they hold memory for certain.
    for (const blank of blanks.toSorted((a, b) => a.state.localeCompare(b.state))) if (await evict(blank)) return true;
    return false;
  }

  // False: do not go on now.
  async function warm(kind: Kind): Promise<boolean> {
    if (clock.now() < heldOffUntilMs) return false;
    try {
      const blank = await store.transaction(async (tx) => {
        await capacity.admitBlank(tx);
        return insertSession(tx, newBlank({ ...deps, lease: transitions.lease }, kind, stepOf("fill", "absent")));
      });
      failpoint("warming.begun");
      await steps.perform({ session: inStep(blank) }).catch((error: unknown) => {
        if (isAppError(error, "capacity_reached")) heldOffUntilMs = clock.now() + HOLD_OFF_MS;
        throw error;
      });
      return true;
    } catch (error) {
      if (!isAppError(error, "capacity_reached")) log.warn("pool.fill_failed", { template: kind.template.name, error: String(error) });
      return false;
    }
  }

  return {
    fill,
    fillSoon,
    makeRoom,
    async [Symbol.asyncDispose]() {
      closed = true;
      clearTimeout(debounce);
      await filling?.catch(() => {});
    },
  };
}

const isOfKind = (blank: Blank, { template, templateHash }: Kind) =>
  blank.template === template.name && blank.templateHash === templateHash;
