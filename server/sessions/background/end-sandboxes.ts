import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { AppError, type SandboxId } from "@berth/contract";
import { SECOND, type Clock } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import { describeError } from "../../faults/describe-error.ts";
import type { Log } from "../../log.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import type { Store } from "../../store/open.ts";
import { takeQuarantined } from "../../store/quarantine.ts";
import { findSession, findSessionBySandbox, sessionsInState } from "../../store/sessions/read.ts";
import { isAtSite, isInStep, SESSION_STATES, type Site, type Session } from "../../store/sessions/session.ts";
import { removeSnapshot } from "../../store/snapshots/write.ts";
import type { Templates } from "../../templates.ts";
import { BACKGROUND, forEachConcurrently } from "./for-each-concurrently.ts";
import { ignoreAll } from "../session-observer.ts";
import { outcomeOf } from "../states/states.ts";
import { createSteps, LEASE_MS } from "../steps/steps.ts";
import { createStepActions, type StepActionsDeps } from "../steps/step-actions.ts";
import { createTransitions } from "../states/transitions.ts";

// Ends every sandbox of a site while no server acts on it, through the same transitions as a server. Rows and events record
// what happened, and the next run or the next server finishes an interrupted one.
export interface EndSandboxes {
  // Sessions become paused with their files, and sandboxes that the store does not know are stopped.
  pauseAll(): Promise<EndedSandboxes>;
  // Sessions are destroyed with their files, and snapshots are deleted.
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
  links: StepActionsDeps["links"];
  templates: Templates;
  secrets: Secrets;
  site: Site;
  // Other servers may use the same store and the same engine, so their leases are respected.
  hasReplicas: boolean;
  clock: Clock;
  log: Log;
}

type Goal = "paused" | "destroyed";

const STEP_TIMEOUT_MS = 60 * SECOND;
// Longer than a lease: by then, a step of another server of the cluster is done or abandoned.
const LEASE_WAIT_MS = 150 * SECOND;
const LIST_TIMEOUT_MS = 30 * SECOND;

export function createEndSandboxes(deps: EndSandboxesDeps): EndSandboxes {
  const { store, driver, site, hasReplicas, clock, log } = deps;
  const actions = createStepActions({
    ...deps,
    driver: hibernateOnPause(driver),
    // Only a server has egress, relays and samples of usage.
    egress: { open: async () => {}, change: async () => {}, close: async () => {} },
    meter: { measureLast: async () => {} },
    modelEnv: () => ({}),
    relayAccess: () => ({ env: {}, gitConfig: [], urlOf: () => "" }),
  });
  const owner = `down-${randomBytes(8).toString("hex")}`;
  const transitions = createTransitions({ store, owner, leaseMs: LEASE_MS, clock, onChange: () => {} });
  const steps = createSteps({ transitions, actions, stepTimeoutMs: STEP_TIMEOUT_MS, clock, log, observer: ignoreAll });

  async function end(goal: Goal): Promise<EndedSandboxes> {
    const ended: EndedSandboxes = { paused: 0, destroyed: 0, discarded: 0, orphans: 0, failures: [] };
    const guarded = (sandboxId: SandboxId, work: () => Promise<void>) =>
      work().catch((error: unknown) => void ended.failures.push(`${sandboxId}: ${describeError(error)}`));
    const sessions = await sessionsInState(store.db, site, LIVE_STATES);
    await forEachConcurrently(sessions, BACKGROUND, (session) =>
      guarded(session.sandboxId, async () => {
        const result = await endSession(session, goal);
        if (result) ended[result]++;
      }),
    );
    // Includes those that were ended above: a sandbox that had stopped by itself may still hold a mount.
    const sandboxes = await driver.list(AbortSignal.timeout(LIST_TIMEOUT_MS));
    await forEachConcurrently(sandboxes, BACKGROUND, ({ id, condition }) =>
      guarded(id, async () => {
        const session = await findSessionBySandbox(store.db, id);
        const signal = AbortSignal.timeout(STEP_TIMEOUT_MS);
        if (!session && goal === "paused" && condition !== "absent") {
          await driver.hibernate(id, signal);
          if (condition !== "stopped") ended.orphans++;
        } else if (outcomeOf("orphan", session?.state ?? "absent").do === "destroy_sandbox") {
          await driver.destroy(id, signal);
          if (!session) await takeQuarantined(store.db, "sandbox", id);
          ended.orphans++;
        } else if (session?.state === "paused" && isAtSite(session, site)) {
          await driver.hibernate(id, signal);
        }
      }),
    );
    return ended;
  }

  // Pulls the trigger until the session is where it should be. null if it was there already.
  async function endSession(first: Session, goal: Goal): Promise<"paused" | "destroyed" | "discarded" | null> {
    let session: Session | null = first;
    while (session && !isAt(session, goal)) {
      if (isInStep(session)) session = await untilFree(session);
      if (session && !isAt(session, goal)) await advance(session, goal);
      session = await findSession(store.db, first.id);
    }
    if (!session) return "discarded";
    if (session.generation === first.generation) return null;
    return goal;
  }

  async function advance(session: Session, goal: Goal): Promise<void> {
    const trigger = goal === "destroyed" ? "destroy_all" : "stop_all";
    const outcome = outcomeOf(trigger, session.state);
    if (outcome.do === "enter") await steps.run(session, trigger);
    // A resume is undone. Its sandbox may run already, so the session counts as holding memory.
    else await transitions.apply(session, trigger, { changes: { isHibernated: false } });
  }

  // The caller holds the lock of the data folder, so no other server shares this machine's sandboxes or this SQLite file.
  // Servers that share PostgreSQL and a cluster may be running, or may have died a moment ago: then the lease has to expire.
  async function untilFree(inStep: Session): Promise<Session | null> {
    const endMs = clock.now() + LEASE_WAIT_MS;
    for (let session: Session | null = inStep; ; session = await findSession(store.db, inStep.id)) {
      if (!session || !hasReplicas || !isInStep(session) || session.lease.untilMs < clock.now()) return session;
      if (clock.now() > endMs) throw new AppError("session_busy", { message: "Another server is working on it. Stop that server first." });
      await delay(200);
    }
  }

  async function deleteSnapshots(ended: EndedSandboxes): Promise<EndedSandboxes> {
    for (const id of await driver.listSnapshots(AbortSignal.timeout(LIST_TIMEOUT_MS)))
      await driver
        .deleteSnapshot(id, AbortSignal.timeout(STEP_TIMEOUT_MS))
        .then(() => removeSnapshot(store.db, id))
        .catch((error: unknown) => void ended.failures.push(`${id}: ${describeError(error)}`));
    return ended;
  }

  return { pauseAll: () => end("paused"), destroyAll: () => end("destroyed").then(deleteSnapshots) };
}

const LIVE_STATES = SESSION_STATES.filter((state) => state !== "destroyed");

const isAt = (session: Session, goal: Goal) =>
  session.state === "destroyed" || (goal === "paused" && session.state === "paused" && session.isHibernated);

// A frozen sandbox still has processes, mounts and control groups.
const hibernateOnPause = (driver: Driver): Driver => ({
  ...driver,
  traits: { ...driver.traits, freezes: false },
  pause: (id, signal) => driver.hibernate(id, signal),
});
