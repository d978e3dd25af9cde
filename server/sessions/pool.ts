import { isAppError } from "@berth/contract";
import { SECOND, type Clock } from "../clock.ts";
import type { Driver } from "../drivers/driver.ts";
import { failpoint } from "../faults/failpoints.ts";
import type { Log } from "../log.ts";
import { runWork } from "../event-loop/loop-work.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { Store } from "../store/open.ts";
import { insertSession, sessionsInState, type Home, type SessionRow } from "../store/sessions/sessions.ts";
import { templateHash, type Templates } from "../templates.ts";
import type { Capacity } from "./capacity.ts";
import { blankRow, type Kind } from "./reserve.ts";
import type { Steps } from "./steps.ts";

// Blank sandboxes that wait for a session, `size` for every template, each owned by a row: after a crash they are found
// and counted again, so there are never more than the bound.
export interface Pool extends AsyncDisposable {
  // Fills up, and throws out what no longer fits its template. Cheap when there is nothing to do; one run at a time.
  fill(): Promise<void>;
  // The same once there is a lull: making sandboxes would slow down the very creates that empty the pool.
  fillSoon(): void;
  // For a create (of this kind) or a resume that has found no room. True when it should try again: a blank of its kind is
  // there to be claimed, or about to be, or one of another kind has been thrown out. The pool makes no new ones for a while.
  makeRoom(kind?: Kind): Promise<boolean>;
}

const FILLING = { name: "pool" };
const LULL_MS = 150;
const PATIENCE_MS = 1000;
// How long the pool makes no blanks after there was no room for a caller, or for a blank.
const HOLD_OFF_MS = 30 * SECOND;

export interface PoolDeps {
  store: Store;
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
  const { store, steps, driver, templates, capacity, home, clock, log, size } = deps;
  let filling: Promise<void> | undefined;
  let again = false;
  let closed = false;
  let lull: NodeJS.Timeout | undefined;
  let waitingSince = 0;
  let heldOffUntilMs = 0;

  function fillSoon(): void {
    if (lull === undefined) waitingSince = performance.now();
    clearTimeout(lull);
    const patience = Math.max(0, PATIENCE_MS - (performance.now() - waitingSince));
    lull = setTimeout(
      () => {
        lull = undefined;
        fill().catch((error: unknown) => log.error("pool.failed", { error: String(error) }));
      },
      Math.min(LULL_MS, patience),
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
      const fits = (row: SessionRow) => kinds.some((kind) => isOfKind(row, kind));
      for (const row of surplus(waiting, fits, await capacity.excess(store.db))) await discard(row);
      for (const kind of kinds) {
        const have = waiting.filter((row) => isOfKind(row, kind)).length;
        for (let missing = size - have; missing > 0 && !closed; missing--) if (!(await warm(kind))) return;
      }
    } while (again && !closed);
  }

  // What is in the pool under an older recipe, beyond the bound after the size was lowered, or in the place of a session.
  function surplus(waiting: SessionRow[], fits: (row: SessionRow) => boolean, excess: number): SessionRow[] {
    const seen = new Map<string, number>();
    let spare = excess;
    return waiting.filter((row) => {
      if (row.state !== "warm") return false;
      const count = (seen.get(row.template) ?? 0) + (fits(row) ? 1 : 0);
      seen.set(row.template, count);
      const goes = !fits(row) || count > size || spare > 0;
      if (goes) spare--;
      return goes;
    });
  }

  // True when its place is free.
  async function discard(row: SessionRow): Promise<boolean> {
    const begun = await steps.begin(row, "discarding");
    if (!begun) return false;
    // One that is being made here stops; another server finds that it was overtaken.
    await steps.interrupt(row.id);
    return await steps.perform(begun).then(
      () => true,
      () => false,
    );
  }

  async function makeRoom(kind?: Kind): Promise<boolean> {
    heldOffUntilMs = clock.now() + HOLD_OFF_MS;
    const blanks = await sessionsInState(store.db, home, ["warm", "warming"]);
    if (kind && blanks.some((row) => isOfKind(row, kind))) return true;
    // Those that have a place for certain go first.
    for (const row of blanks.toSorted((a, b) => a.state.localeCompare(b.state))) if (await discard(row)) return true;
    return false;
  }

  // False when it makes no sense to go on now.
  async function warm(kind: Kind): Promise<boolean> {
    if (clock.now() < heldOffUntilMs) return false;
    try {
      const row = await store.transaction(async (tx) => {
        await capacity.admitBlank(tx);
        return insertSession(tx, blankRow({ ...deps, lease: steps.lease }, kind, "warming"));
      });
      failpoint("warming.begun");
      await perform(row);
      return true;
    } catch (error) {
      if (!isAppError(error, "capacity_reached")) log.warn("pool.fill_failed", { template: kind.template.name, error: String(error) });
      return false;
    }
  }

  async function perform(row: SessionRow): Promise<void> {
    try {
      await steps.perform(row);
    } catch (error) {
      if (isAppError(error, "capacity_reached")) heldOffUntilMs = clock.now() + HOLD_OFF_MS;
      throw error;
    }
  }

  return {
    fill,
    fillSoon,
    makeRoom,
    async [Symbol.asyncDispose]() {
      closed = true;
      clearTimeout(lull);
      await filling?.catch(() => {});
    },
  };
}

const isOfKind = (row: SessionRow, { template, templateHash }: Kind) =>
  row.template === template.name && row.template_hash === templateHash;
