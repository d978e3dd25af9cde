import { setTimeout as sleep } from "node:timers/promises";
import { isAppError } from "@berth/contract";
import { failpoint } from "../../faults/failpoints.ts";
import type { Driver } from "../../drivers/driver.ts";
import type { Log } from "../../log.ts";
import type { Session, SessionInStep } from "../../store/sessions/session.ts";
import type { Look, Pool } from "./pool.ts";
import { reserve, reserveNew, reserveWarm, swapForWarm, type ReserveDeps, type Wanted } from "./reserve.ts";
import type { Steps } from "../steps/steps.ts";

// Finds a sandbox for a new session: a warm one of the pool, or a new one. Callers come before the pool: a create that waits
// for a new sandbox takes a warm one that becomes free earlier, and one that finds no room evicts the pool's blanks.
export interface Placement extends AsyncDisposable {
  place(wanted: Wanted): Promise<Placed>;
}

export interface Placed {
  session: Session;
  // Where its sandbox comes from: the pool, or a create of its own.
  start: "warm" | "cold";
}

export interface PlacementDeps extends ReserveDeps {
  steps: Steps;
  pool: Pick<Pool, "fillSoon" | "look">;
  driver: Pick<Driver, "roomOf" | "isFull">;
  stepTimeoutMs: number;
  // How often a waiting create looks for a warm sandbox. Another server's pool may have made it.
  lookMs?: number;
  log: Log;
}

const LOOK_MS = 500;
const RETRY_MS = 100;

export function createPlacement(deps: PlacementDeps): Placement {
  const { steps, pool, driver, stepTimeoutMs, lookMs = LOOK_MS, log } = deps;
  const discards = new Set<Promise<void>>();

  async function place(wanted: Wanted): Promise<Placed> {
    const endMs = performance.now() + stepTimeoutMs;
    using look = pool.look(wanted.kind, wanted.partner.id);
    for (let reserveNext = reserve; ;) {
      try {
        return await attempt(wanted, look, reserveNext);
      } catch (error) {
        const isFull = isAppError(error, "capacity_reached") && performance.now() < endMs;
        const room = isFull ? await look.makeRoom() : null;
        if (room === null) throw error;
        // A sandbox of its own would wait for room again, as long as the engine lets it, while another create claims the blank.
        reserveNext = room === "claim" ? reserveWarm : reserve;
        // The blank that is about to be warm may take a while.
        await sleep(RETRY_MS);
      }
    }
  }

  async function attempt(wanted: Wanted, look: Look, reserveNext: typeof reserve): Promise<Placed> {
    const { session, created } = await reserveNext(deps, wanted, look);
    look.found(isFromPool(session) ? "warm" : "none");
    if (created) {
      steps.left({ session, span: wanted.span }, created);
      pool.fillSoon();
      return { session: created, start: "warm" };
    }
    const reserved = begun(session);
    const outcome = isFromPool(reserved) ? { claimed: reserved } : await createOrClaim(reserved, wanted, look);
    if ("created" in outcome) return { session: outcome.created, start: "cold" };
    try {
      return { session: await perform(outcome.claimed, wanted), start: "warm" };
    } catch (error) {
      // A warm sandbox may have died unnoticed. The partner should not see that, so create a new one.
      log.warn("pool.dead_sandbox", { sandboxId: outcome.claimed.sandboxId, error: String(error) });
      return { session: await perform(begun(await reserveNew(deps, wanted)), wanted), start: "cold" };
    }
  }

  function begun(session: SessionInStep): SessionInStep {
    failpoint("creating.begun");
    pool.fillSoon();
    return session;
  }

  async function perform(session: SessionInStep, { record, span }: Wanted): Promise<Session> {
    const created = await steps.perform({ session, record, span });
    if (!created) throw new Error(`${session.id} was deleted while it was created`);
    return created;
  }

  // Creates the sandbox, unless a warm one can be claimed before it is ready.
  async function createOrClaim(
    session: SessionInStep,
    wanted: Wanted,
    look: Look,
  ): Promise<{ created: Session } | { claimed: SessionInStep }> {
    const settled = new AbortController();
    const creating = perform(session, wanted).finally(() => settled.abort());
    // The pool grows only when no create waits.
    settled.signal.addEventListener("abort", pool.fillSoon);
    // After a swap, its failure is expected.
    creating.catch(() => {});
    for (let hasAsked = false; ;) {
      await sleep(lookMs, undefined, { signal: settled.signal }).catch(() => {});
      const room = settled.signal.aborted ? null : driver.roomOf?.(session.sandboxId);
      if (room === "given") look.gotRoom();
      // While the engine goes on looking for room, a blank can give way.
      if (room === "none" && !hasAsked) {
        hasAsked = true;
        look
          .makeRoomEarly()
          .catch((error: unknown) => log.warn("pool.make_room_failed", { sandboxId: session.sandboxId, error: String(error) }));
      }
      // A sandbox that has room leaves the warm one to those that have none.
      const leaves = settled.signal.aborted || (room === "given" && driver.isFull?.() === true);
      const claimed = leaves ? null : await trySwap(session, wanted, look);
      if (claimed) return { claimed };
      if (settled.signal.aborted) return { created: await creating };
    }
  }

  async function trySwap(waiting: SessionInStep, wanted: Wanted, look: Look): Promise<SessionInStep | null> {
    try {
      const swapped = await swapForWarm(deps, wanted, waiting, look);
      if (!swapped) return null;
      look.found("warm");
      discard(swapped.discarded);
      pool.fillSoon();
      return swapped.claimed;
    } catch (error) {
      log.warn("pool.look_failed", { sandboxId: waiting.sandboxId, error: String(error) });
      return null;
    }
  }

  // In the background, because the caller has its sandbox. If this server dies first, reconciliation finds the expired lease.
  function discard(session: SessionInStep): void {
    const work = steps
      .perform({ session })
      .then(
        () => {},
        (error: unknown) => log.warn("pool.discard_failed", { sandboxId: session.sandboxId, error: String(error) }),
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

const isFromPool = (session: SessionInStep) => session.state === "creating" && session.sandbox === "from_pool";
