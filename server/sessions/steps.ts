import type { Updateable } from "kysely";
import { AppError, isAppError } from "@berth/contract";
import type { Clock } from "../clock.ts";
import { failpoint } from "../faults/failpoints.ts";
import type { Log } from "../log.ts";
import { appendEvent } from "../store/events.ts";
import type { Store } from "../store/open.ts";
import type { Db, SessionsTable } from "../store/schema.ts";
import { deleteSession, moveSession, releaseLease, takeOverStep, type Lease, type SessionRow } from "../store/sessions/sessions.ts";
import { STEPS, isStep, type Step } from "./states.ts";
import { eventData } from "./view.ts";
import type { StepAction } from "./step-actions.ts";

// Steps between states: entered by one guarded UPDATE that takes a lease, left by one transaction that writes row and
// event. In between the engine works, for as long as the lease at most. Whoever was overtaken meanwhile changes nothing.
export interface Steps {
  lease(): Lease;
  // null: the row is not as `seen` any more. `admit` is asked in the same transaction; when it throws, nothing has begun.
  begin(seen: SessionRow, step: Step, changes?: Updateable<SessionsTable>, admit?: (tx: Db) => Promise<void>): Promise<SessionRow | null>;
  takeOver(seen: SessionRow): Promise<SessionRow | null>;
  // Does the work of the step that `row` is in and leaves it. Resolves to the row as it is then (null: discarded).
  perform(row: SessionRow, inTransaction?: InTransaction): Promise<SessionRow | null>;
  // Stops a step that this server has under way on the session, and waits until it has stopped.
  interrupt(id: string): Promise<void>;
  // Waits until nothing is under way here.
  idle(): Promise<void>;
}

export type InTransaction = (tx: Db, row: SessionRow) => Promise<void>;

export interface StepsDeps {
  store: Store;
  actions: Record<Step, StepAction>;
  owner: string;
  stepTimeoutMs: number;
  clock: Clock;
  log: Log;
  onChange(row: SessionRow): void;
}

const LEASE_MARGIN_MS = 15_000;

export function createSteps({ store, actions, owner, stepTimeoutMs, clock, log, onChange }: StepsDeps): Steps {
  const underWay = new Map<string, { stop: AbortController; settled: Promise<unknown> }>();
  const lease = (): Lease => ({ owner, untilMs: clock.now() + stepTimeoutMs + LEASE_MARGIN_MS });

  const begin: Steps["begin"] = async (seen, step, changes = {}, admit) => {
    const from: readonly string[] = STEPS[step].from;
    if (!from.includes(seen.state)) throw new Error(`No way from ${seen.state} to ${step}`);
    const entered = { ...changes, lease_owner: owner, lease_until: lease().untilMs, updated_at: clock.now() };
    const row = admit
      ? await store.transaction(async (tx) => {
          await admit(tx);
          return moveSession(tx, seen, step, entered);
        })
      : await moveSession(store.db, seen, step, entered);
    if (row) onChange(row);
    failpoint(`${step}.begun`);
    return row ?? null;
  };

  async function takeOver(seen: SessionRow): Promise<SessionRow | null> {
    return (await takeOverStep(store.db, seen, lease(), clock.now())) ?? null;
  }

  function perform(row: SessionRow, inTransaction?: InTransaction): Promise<SessionRow | null> {
    const stop = new AbortController();
    const settled = run(row, stop.signal, inTransaction);
    const entry = { stop, settled: settled.catch(() => {}) };
    underWay.set(row.id, entry);
    return settled.finally(() => {
      if (underWay.get(row.id) === entry) underWay.delete(row.id);
    });
  }

  async function run(row: SessionRow, stop: AbortSignal, inTransaction?: InTransaction): Promise<SessionRow | null> {
    if (!isStep(row.state)) throw new Error(`${row.id} is in no step but ${row.state}`);
    const step = row.state;
    const startedMs = clock.now();
    try {
      await actions[step].act(row, AbortSignal.any([stop, AbortSignal.timeout(stepTimeoutMs)]));
      const left = await leave(row, step, inTransaction);
      log.info(`session.${step}.done`, { sessionId: row.id, sandboxId: row.sandbox_id, tookMs: clock.now() - startedMs });
      return left;
    } catch (error) {
      const reason = explain(error, stop);
      if (!isAppError(reason, "session_busy"))
        log.error(`session.${step}.failed`, { sessionId: row.id, sandboxId: row.sandbox_id, error: describe(error) });
      await giveUp(row, step).catch((second: unknown) => log.error("session.undo_failed", { sessionId: row.id, error: describe(second) }));
      throw reason;
    }
  }

  async function leave(row: SessionRow, step: Step, inTransaction?: InTransaction): Promise<SessionRow | null> {
    const { done } = STEPS[step];
    const { event, done: changes } = actions[step];
    failpoint(`${step}.acted`);
    if (done === "gone") {
      if (!(await deleteSession(store.db, row))) throw overtaken();
      return null;
    }
    const left = await store.transaction(async (tx) => {
      const moved = await moveSession(tx, row, done, { ...changes(row), lease_owner: null, lease_until: null, updated_at: clock.now() });
      if (!moved) throw overtaken();
      if (event)
        await appendEvent(tx, { partnerId: moved.partner_id!, sessionId: moved.id, type: event, at: clock.now(), data: eventData(moved) });
      await inTransaction?.(tx, moved);
      return moved;
    });
    failpoint(`${step}.left`);
    onChange(left);
    return left;
  }

  async function giveUp(row: SessionRow, step: Step): Promise<void> {
    const { failed } = STEPS[step];
    if (failed === step) return releaseLease(store.db, row);
    const undone = isStep(failed)
      ? await begin(row, failed)
      : await moveSession(store.db, row, failed, {
          ...actions[step].failed?.(row),
          lease_owner: null,
          lease_until: null,
          updated_at: clock.now(),
        });
    if (!undone) return;
    onChange(undone);
    if (isStep(failed)) await run(undone, new AbortController().signal).catch(() => {});
  }

  async function interrupt(id: string): Promise<void> {
    const entry = underWay.get(id);
    entry?.stop.abort(overtaken());
    await entry?.settled;
  }

  async function idle(): Promise<void> {
    while (underWay.size > 0) await Promise.all([...underWay.values()].map((entry) => entry.settled));
  }

  return { lease, begin, takeOver, perform, interrupt, idle };
}

const overtaken = () => new AppError("session_busy", { message: "Another step took over this session" });

// What the caller is told: our own errors as they are, time that ran out as 504, all else without its internals.
function explain(error: unknown, stop: AbortSignal): AppError {
  if (stop.aborted && isAppError(stop.reason)) return stop.reason;
  if (isAppError(error)) return error;
  if (error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError"))
    return new AppError("sandbox_timeout", { cause: error });
  return new AppError("sandbox_failed", { cause: error });
}

const describe = (error: unknown): string =>
  error instanceof Error ? `${error.message}${error.cause ? `: ${describe(error.cause)}` : ""}` : String(error);
