import { setTimeout as sleep } from "node:timers/promises";
import { isAppError } from "@berth/contract";
import { failpoint } from "../faults/failpoints.ts";
import type { Log } from "../log.ts";
import type { SessionRow } from "../store/sessions/sessions.ts";
import type { Pool } from "./pool.ts";
import { exchange, reserve, type Exchange, type ReserveDeps, type Wanted } from "./reserve.ts";
import type { InTransaction, Steps } from "./steps.ts";
import { FIRST_GENERATION } from "./step-actions.ts";

// Finds a sandbox for a new session: a warm one of the pool, or a new one. A create that waits for a new one takes a warm
// one that becomes free earlier, and one that finds no room takes the place of the pool's blanks. Callers come first.
export interface Placement extends AsyncDisposable {
  place(wanted: Wanted, inTransaction?: InTransaction): Promise<SessionRow>;
}

export interface PlacementDeps extends Omit<ReserveDeps, "lease"> {
  steps: Steps;
  pool: Pick<Pool, "makeRoom" | "fillSoon">;
  stepTimeoutMs: number;
  log: Log;
}

// How often a create that waits looks for a warm sandbox. Another server's pool may have made it.
const LOOK_MS = 500;
const AGAIN_MS = 100;

export function createPlacement(given: PlacementDeps): Placement {
  const deps = { ...given, lease: given.steps.lease };
  const { steps, pool, stepTimeoutMs, log } = deps;
  const discards = new Set<Promise<void>>();

  async function place(wanted: Wanted, inTransaction?: InTransaction): Promise<SessionRow> {
    const endMs = performance.now() + stepTimeoutMs;
    for (;;) {
      try {
        return await attempt(wanted, inTransaction);
      } catch (error) {
        const isFull = isAppError(error, "capacity_reached") && performance.now() < endMs;
        if (!isFull || !(await pool.makeRoom(wanted.kind))) throw error;
        // A refusal by a bound of our own comes at once, and the blank that is waited for may take a while.
        await sleep(AGAIN_MS);
      }
    }
  }

  async function attempt(wanted: Wanted, inTransaction?: InTransaction): Promise<SessionRow> {
    const perform = async (row: SessionRow) => (await steps.perform(row, inTransaction))!;
    const row = await begin(wanted, { fromPool: true });
    const isWarm = row.generation > FIRST_GENERATION;
    const outcome = isWarm ? { claimed: row } : await makeOrClaim(row, wanted, perform);
    if ("made" in outcome) return outcome.made;
    try {
      return await perform(outcome.claimed);
    } catch (error) {
      // A warm sandbox may have died unnoticed. The partner should not see that: once more, with a new one.
      log.warn("pool.dead_sandbox", { sandboxId: outcome.claimed.sandbox_id, error: String(error) });
      return await perform(await begin(wanted, { fromPool: false }));
    }
  }

  async function begin(wanted: Wanted, from: { fromPool: boolean }): Promise<SessionRow> {
    const row = await reserve(deps, wanted, from);
    failpoint("creating.begun");
    pool.fillSoon();
    return row;
  }

  // Makes the sandbox of `row`, unless a warm one can be claimed before it is made.
  async function makeOrClaim(
    row: SessionRow,
    wanted: Wanted,
    perform: (row: SessionRow) => Promise<SessionRow>,
  ): Promise<{ made: SessionRow } | { claimed: SessionRow }> {
    const settled = new AbortController();
    const making = perform(row).finally(() => settled.abort());
    // Whoever is exchanged does not wait for it.
    making.catch(() => {});
    for (;;) {
      await sleep(LOOK_MS, undefined, { signal: settled.signal }).catch(() => {});
      const exchanged = settled.signal.aborted ? null : await lookForWarm(row, wanted);
      if (exchanged) {
        discard(exchanged);
        pool.fillSoon();
        return { claimed: exchanged.claimed };
      }
      if (settled.signal.aborted) return { made: await making };
    }
  }

  async function lookForWarm(row: SessionRow, wanted: Wanted): Promise<Exchange | null> {
    try {
      return await exchange(deps, wanted, row);
    } catch (error) {
      log.warn("pool.look_failed", { sandboxId: row.sandbox_id, error: String(error) });
      return null;
    }
  }

  // In the background: the caller has its sandbox. If this server dies first, reconcile finds the row by its lease.
  function discard({ left }: Exchange): void {
    const work = steps
      .interrupt(left.id)
      .then(() => steps.perform(left))
      .then(
        () => {},
        (error: unknown) => log.warn("pool.discard_failed", { sandboxId: left.sandbox_id, error: String(error) }),
      )
      .finally(() => discards.delete(work));
    discards.add(work);
  }

  return {
    place,
    async [Symbol.asyncDispose]() {
      while (discards.size > 0) await Promise.all(discards);
    },
  };
}
