import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { AppError, type SandboxId } from "@berth/contract";
import { SECOND, type Clock } from "../clock.ts";
import type { Driver } from "../drivers/driver.ts";
import type { DaemonLinks } from "../daemon-link/daemon-links.ts";
import type { Log } from "../log.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { Store } from "../store/open.ts";
import { findSession, findSessionBySandbox, moveSession, sessionsInState, type Home, type SessionRow } from "../store/sessions/sessions.ts";
import type { Templates } from "../templates.ts";
import { BACKGROUND, forEachConcurrently } from "./for-each-concurrently.ts";
import { isStep, SESSION_STATES } from "./states.ts";
import { createSteps } from "./steps.ts";
import { createStepActions } from "./step-actions.ts";

// Ends every sandbox of a home while no server acts on it, through the same steps as a server: rows and events tell what
// happened, and a run that is interrupted is finished by the next one or by the next server.
export interface EndSandboxes {
  // Sessions become paused with their files; what belongs to no session is destroyed.
  pauseAll(): Promise<EndedSandboxes>;
  // Sessions are destroyed with their files.
  destroyAll(): Promise<EndedSandboxes>;
}

export interface EndedSandboxes {
  // Sessions that were running or still held memory.
  paused: number;
  destroyed: number;
  // Blank sandboxes of the pool and creates that were never acknowledged.
  discarded: number;
  orphans: number;
  // One sentence for each sandbox that could not be ended.
  failures: string[];
}

export interface EndSandboxesDeps {
  store: Store;
  driver: Driver;
  links: Pick<DaemonLinks, "start" | "stop" | "forget">;
  templates: Templates;
  secrets: Secrets;
  home: Home;
  // Other servers may use the same store and the same engine, so their leases count.
  hasReplicas: boolean;
  clock: Clock;
  log: Log;
}

type Goal = "paused" | "destroyed";

const STEP_TIMEOUT_MS = 60 * SECOND;
// Longer than a lease: a step that another server of the cluster began is finished or abandoned by then.
const LEASE_PATIENCE_MS = 150 * SECOND;
const LIST_TIMEOUT_MS = 30 * SECOND;

export function createEndSandboxes(deps: EndSandboxesDeps): EndSandboxes {
  const { store, driver, home, hasReplicas, clock, log } = deps;
  const actions = createStepActions({
    ...deps,
    driver: hibernateOnPause(driver),
    // Only a server has one.
    egress: { open: async () => {}, close: async () => {} },
    modelEnv: () => ({}),
  });
  const owner = `down-${randomBytes(8).toString("hex")}`;
  const steps = createSteps({ store, actions, owner, stepTimeoutMs: STEP_TIMEOUT_MS, clock, log, onChange: () => {} });

  async function end(goal: Goal): Promise<EndedSandboxes> {
    const ended: EndedSandboxes = { paused: 0, destroyed: 0, discarded: 0, orphans: 0, failures: [] };
    const guarded = (sandboxId: SandboxId, work: () => Promise<void>) =>
      work().catch((error: unknown) => void ended.failures.push(`${sandboxId}: ${describe(error)}`));
    const rows = await sessionsInState(store.db, home, LIVING);
    await forEachConcurrently(rows, BACKGROUND, (row) =>
      guarded(row.sandbox_id, async () => {
        const result = await endSession(row, goal);
        if (result) ended[result]++;
      }),
    );
    // Also those that were ended above: one that had stopped by itself may still hold a mount.
    const sandboxes = await driver.list(AbortSignal.timeout(LIST_TIMEOUT_MS));
    await forEachConcurrently(sandboxes, BACKGROUND, ({ id }) =>
      guarded(id, async () => {
        const row = await findSessionBySandbox(store.db, id);
        const signal = AbortSignal.timeout(STEP_TIMEOUT_MS);
        if (!row || row.state === "destroyed") {
          await driver.destroy(id, signal);
          ended.orphans++;
        } else if (row.state === "paused" && row.driver === home.driver && row.host === home.host) {
          await driver.hibernate(id, signal);
        }
      }),
    );
    return ended;
  }

  // Moves the row on until it is where it should be. null when it was there already.
  async function endSession(seen: SessionRow, goal: Goal): Promise<"paused" | "destroyed" | "discarded" | null> {
    let row: SessionRow | undefined = seen;
    while (row && !isAt(row, goal)) {
      if (isStep(row.state)) row = await untilFree(row);
      if (row && !isAt(row, goal)) await advance(row, goal);
      row = await findSession(store.db, seen.id);
    }
    if (!row) return "discarded";
    if (row.generation === seen.generation) return null;
    return goal;
  }

  async function advance(row: SessionRow, goal: Goal): Promise<void> {
    // What no partner was told of is undone, whatever the goal.
    if (row.state === "warming" || row.state === "warm" || row.state === "creating") return perform(await steps.begin(row, "discarding"));
    if (row.state === "discarding" || row.state === "destroying") return perform(await steps.takeOver(row));
    if (goal === "destroyed") return perform(await steps.begin(row, "destroying", { stop_reason: "api" }));
    if (row.state === "running") return perform(await steps.begin(row, "pausing", { stop_reason: "api" }));
    if (row.state === "paused") return perform(await steps.begin(row, "hibernating"));
    if (row.state === "resuming") return undoResume(row);
    return perform(await steps.takeOver(row));
  }

  async function perform(begun: SessionRow | null): Promise<void> {
    if (begun) await steps.perform(begun);
  }

  // Its sandbox may run already: as a paused session that holds memory it is stopped next.
  async function undoResume(row: SessionRow): Promise<void> {
    const changes = { lease_owner: null, lease_until: null, hibernated: 0 as const, updated_at: clock.now() };
    await moveSession(store.db, row, "paused", changes);
  }

  // The caller holds the lock of the data folder, so no other server shares this machine's sandboxes or this SQLite file.
  // Servers that share PostgreSQL and a cluster may be at work, or may have died a moment ago: then the lease has to expire.
  async function untilFree(row: SessionRow): Promise<SessionRow | undefined> {
    const endMs = clock.now() + LEASE_PATIENCE_MS;
    for (let now: SessionRow | undefined = row; ; now = await findSession(store.db, row.id)) {
      if (!now || !hasReplicas || (now.lease_until ?? 0) < clock.now()) return now;
      if (clock.now() > endMs) throw new AppError("session_busy", { message: "Another server is at work on it; stop that one first" });
      await delay(200);
    }
  }

  return { pauseAll: () => end("paused"), destroyAll: () => end("destroyed") };
}

const LIVING = SESSION_STATES.filter((state) => state !== "destroyed");

const isAt = (row: SessionRow, goal: Goal) =>
  row.state === "destroyed" || (goal === "paused" && row.state === "paused" && row.hibernated === 1);

// A frozen sandbox still has processes, mounts and control groups.
const hibernateOnPause = (driver: Driver): Driver => ({
  ...driver,
  traits: { ...driver.traits, freezes: false },
  pause: (id, signal) => driver.hibernate(id, signal),
});

const describe = (error: unknown): string =>
  error instanceof Error ? `${error.message}${error.cause instanceof Error ? ` (${error.cause.message})` : ""}` : String(error);
