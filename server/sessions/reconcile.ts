import { isAppError, type SandboxId } from "@berth/contract";
import type { Clock } from "../clock.ts";
import type { Driver, SandboxSummary } from "../drivers/driver.ts";
import type { Log } from "../log.ts";
import { appendEvent } from "../store/events.ts";
import type { Store } from "../store/open.ts";
import {
  abandonedSteps,
  findSessionBySandbox,
  moveSession,
  sessionsInState,
  updateSession,
  type Home,
  type SessionRow,
} from "../store/sessions/sessions.ts";
import type { Changes } from "./create-sessions.ts";
import { BACKGROUND, forEachConcurrently } from "./for-each-concurrently.ts";
import { STEPS, isStep, type Step } from "./states.ts";
import type { Steps } from "./steps.ts";
import { eventData } from "./view.ts";
import type { SandboxEgress, StepAction } from "./step-actions.ts";

// Brings store and engine together again after somebody died: finishes the steps that nobody works on, destroys
// sandboxes that no row owns, and tells the truth about rows whose sandbox is not what they say. Runs at start and then
// all the time; with nothing wrong it costs two queries and one list.
export interface Reconcile {
  // Both of the following. `predecessors`: also take over the unexpired leases of other processes of this home (they are
  // known to be dead).
  run(options?: { predecessors: boolean }): Promise<Findings>;
  // How many steps there were that nobody worked on.
  finishSteps(predecessors?: boolean): Promise<number>;
  // What differed. Beside the steps, not behind them: one that hangs must not keep orphans alive.
  repairDifferences(): Promise<Difference[]>;
  // What `run` would do, without doing it.
  compare(): Promise<Difference[]>;
}

export interface Findings {
  steps: number;
  orphans: number;
  differences: number;
}

export interface Difference {
  sandboxId: string;
  sessionId: string | null;
  // What is wrong, as a stable word. `returned`: the session was paused because its sandbox counted as lost, and the sandbox
  // runs after all.
  kind: "orphan" | "lost" | "returned" | "stopped" | "awake" | "frozen";
}

export interface ReconcileDeps {
  store: Store;
  driver: Driver;
  egress: Pick<SandboxEgress, "close">;
  steps: Steps;
  actions: Record<Step, StepAction>;
  home: Home;
  owner: string;
  clock: Clock;
  log: Log;
  changes: Changes;
  // Counts what was found, by kind, for the metrics.
  onFound(kind: string): void;
}

const LIST_TIMEOUT_MS = 20_000;
const DESTROY_TIMEOUT_MS = 30_000;
const WAKE_TIMEOUT_MS = 30_000;

export function createReconcile(deps: ReconcileDeps): Reconcile {
  const { store, driver, egress, steps, actions, home, owner, clock, log, changes, onFound } = deps;

  async function run(options = { predecessors: false }): Promise<Findings> {
    const [stepsDone, found] = await Promise.all([finishSteps(options.predecessors), repairDifferences()]);
    return { steps: stepsDone, orphans: found.filter(({ kind }) => kind === "orphan").length, differences: found.length };
  }

  async function finishSteps(predecessors = false): Promise<number> {
    const abandoned = await abandonedSteps(store.db, home, clock.now(), predecessors ? owner : undefined);
    await forEachConcurrently(abandoned, BACKGROUND, async (row) => {
      onFound(`step_${row.state}`);
      log.warn("reconcile.step", { sessionId: row.id, sandboxId: row.sandbox_id, state: row.state });
      await finish(row).catch((error: unknown) =>
        log.error("reconcile.step_failed", { sessionId: row.id, state: row.state, error: String(error) }),
      );
    });
    return abandoned.length;
  }

  async function repairDifferences(): Promise<Difference[]> {
    const found = await compare(deps);
    await forEachConcurrently(found, BACKGROUND, (difference) =>
      repair(difference).catch((error: unknown) => log.error("reconcile.failed", { ...difference, error: String(error) })),
    );
    return found;
  }

  // A create that nobody waits for any more is undone; every other step is done again to its end.
  async function finish(row: SessionRow): Promise<void> {
    if (!isStep(row.state)) return;
    const undo = row.state === "warming" || row.state === "creating";
    const mine = undo ? await steps.begin(row, STEPS[row.state].failed as "discarding") : await steps.takeOver(row);
    if (mine) await steps.perform(mine);
  }

  async function repair(difference: Difference): Promise<void> {
    onFound(difference.kind);
    log.warn("reconcile.difference", difference);
    if (difference.kind === "orphan") return destroyOrphan(difference.sandboxId as SandboxId);
    const row = await findSessionBySandbox(store.db, difference.sandboxId);
    if (!row || row.lease_until !== null) return;
    // Looked at twice: the list may be older than the row.
    const condition = await driver.inspect(row.sandbox_id, AbortSignal.timeout(LIST_TIMEOUT_MS));
    if (findDifference(row, condition)?.kind !== difference.kind) return;
    if (row.state === "warm") return runStep(row, "discarding");
    if (difference.kind === "lost") return pauseLost(row);
    if (difference.kind === "stopped") return void (await updateSession(store.db, row, { hibernated: 1 }));
    if (difference.kind === "awake") return runStep(row, "hibernating");
    // A resume like any other, so that whoever was told of the loss hears of the return. It finds the processes as they were.
    if (difference.kind === "returned") return runStep(row, "resuming");
    return actions.resuming.act(row, AbortSignal.timeout(WAKE_TIMEOUT_MS));
  }

  // With the way out that it may still have here: its row was there when that was opened.
  async function destroyOrphan(sandboxId: SandboxId): Promise<void> {
    await driver.destroy(sandboxId, AbortSignal.timeout(DESTROY_TIMEOUT_MS));
    await egress.close(sandboxId);
  }

  async function runStep(row: SessionRow, step: "discarding" | "hibernating" | "resuming"): Promise<void> {
    const begun = await steps.begin(row, step);
    if (!begun) return;
    await steps.perform(begun).catch((error: unknown) => {
      if (!isAppError(error, "session_busy")) throw error;
    });
  }

  // The sandbox of a running session has stopped by itself (the machine was restarted, it ran out of memory). Its files
  // are kept, so it is paused, not lost.
  async function pauseLost(row: SessionRow): Promise<void> {
    const nowMs = clock.now();
    const paused = await store.transaction(async (tx) => {
      const moved = await moveSession(tx, row, "paused", {
        stop_reason: "sandbox_lost",
        paused_at: nowMs,
        expires_at: null,
        hibernated: 1,
        updated_at: nowMs,
      });
      if (!moved) return null;
      const event = { partnerId: moved.partner_id!, sessionId: moved.id, at: nowMs, data: eventData(moved) };
      await appendEvent(tx, { ...event, type: "session.failed" });
      await appendEvent(tx, { ...event, type: "session.paused" });
      return moved;
    });
    if (paused) changes.tell(paused);
  }

  return { run, finishSteps, repairDifferences, compare: () => compare(deps) };
}

// How the engine's list and the store's rows differ, without doing anything about it.
export async function compare({ store, driver, home }: Pick<ReconcileDeps, "store" | "driver" | "home">): Promise<Difference[]> {
  // The list comes first: a sandbox is made only after its row, so one that is in the list without a row has no owner.
  const sandboxes = await driver.list(AbortSignal.timeout(LIST_TIMEOUT_MS));
  const rows = await sessionsInState(store.db, home, ["warm", "running", "paused"]);
  const conditions = new Map(sandboxes.map((sandbox) => [sandbox.id, sandbox.condition]));
  const owned = new Set(rows.map((row) => row.sandbox_id));
  const wrong = rows
    .map((row) => findDifference(row, conditions.get(row.sandbox_id) ?? "absent"))
    .filter((difference) => difference !== null);
  const strangers = sandboxes.filter((sandbox) => !owned.has(sandbox.id));
  return [...wrong, ...(await orphansAmong(store, strangers))];
}

async function orphansAmong(store: Store, strangers: SandboxSummary[]): Promise<Difference[]> {
  const orphans: Difference[] = [];
  for (const { id } of strangers) {
    const row = await findSessionBySandbox(store.db, id);
    if (!row || row.state === "destroyed") orphans.push({ sandboxId: id, sessionId: row?.id ?? null, kind: "orphan" });
  }
  return orphans;
}

// What is wrong with this row, given what the engine has. null when all is well.
function findDifference(row: SessionRow, condition: SandboxSummary["condition"]): Difference | null {
  const difference = (kind: Difference["kind"]): Difference => ({ sandboxId: row.sandbox_id, sessionId: row.id, kind });
  const holdsNothing = condition === "absent" || condition === "stopped";
  switch (row.state) {
    case "warm":
      // One that cannot be reached is of no use to the next create.
      if (holdsNothing || condition === "unreachable") return difference("lost");
      return condition === "frozen" ? difference("frozen") : null;
    case "running":
      if (holdsNothing) return difference("lost");
      return condition === "frozen" ? difference("frozen") : null;
    case "paused":
      if (condition === "running") return difference(row.stop_reason === "sandbox_lost" ? "returned" : "awake");
      return holdsNothing && row.hibernated === 0 ? difference("stopped") : null;
    default:
      return null;
  }
}
