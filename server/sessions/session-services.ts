import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { findOwnSession } from "./find-session.ts";
import type { TimeoutAction } from "@berth/contract";
import { SECOND } from "../clock.ts";
import type { MachineDisk } from "../disk-space.ts";
import { runWork } from "../event-loop/loop-work.ts";
import { createSemaphore } from "../fairness/semaphore.ts";
import type { ImageBuilds } from "../builds/image-builds.ts";
import type { DaemonLinks } from "../daemon-link/daemon-links.ts";
import type { LinkNews } from "../daemon-link/link-news.ts";
import type { Store } from "../store/open.ts";
import { countPausedTooLong } from "../store/sessions/due.ts";
import { sessionsInState } from "../store/sessions/read.ts";
import { setMissingTimeoutActions } from "../store/sessions/rules.ts";
import type { Site, Session } from "../store/sessions/session.ts";
import { countTakenBefore, findSnapshot } from "../store/snapshots/read.ts";
import { createCallsUnderWay, type CallsUnderWay } from "./calls-under-way.ts";
import { createCapacity, type CapacityOptions } from "./pool/capacity.ts";
import { createChanges } from "./changes.ts";
import { createSessions } from "./create-sessions.ts";
import { createPlacement } from "./pool/placement.ts";
import { createPool, type Pool } from "./pool/pool.ts";
import { createDiskPauses } from "./background/disk-pauses.ts";
import { createReconcile, type Reconcile } from "./background/reconcile.ts";
import { createActivity, type Activity } from "./idle/activity.ts";
import { createAgentActivity } from "./idle/agent-activity.ts";
import { createBusySandboxes } from "./idle/busy-sandboxes.ts";
import { createIdleWatch } from "./idle/idle-watch.ts";
import { createRetentionHold } from "./background/hold-retention.ts";
import { createSchedule, type ScheduleDeps } from "./background/schedule.ts";
import { completeRecords } from "./quarantine/complete-records.ts";
import { createQuarantine } from "./quarantine/quarantine.ts";
import { NO_RECORDS, type SessionRecords } from "./quarantine/session-records.ts";
import { templateOf } from "./sandbox-spec.ts";
import type { ServerDirectory } from "./server-directory.ts";
import { ignoreAll, type SessionObserver } from "./session-observer.ts";
import type { Sessions } from "./sessions.ts";
import { followSetups } from "./setup/follow-setups.ts";
import { createOutboxLink } from "./outbox/outbox-link.ts";
import { createOutboxWatch } from "./outbox/outbox-watch.ts";
import { createRunCalls } from "./runs/run-calls.ts";
import { createRunDelivery } from "./runs/run-delivery.ts";
import { createRunLink } from "./runs/run-link.ts";
import type { Runs } from "./runs/runs.ts";
import { createLiveLimits } from "./limits/live-limits.ts";
import { createSnapshotServices } from "./snapshots/snapshot-services.ts";
import { requireAdopted, requireReady } from "./snapshots/require-snapshot.ts";
import type { SnapshotLimits, Snapshots } from "./snapshots/snapshots.ts";
import { createSteps, LEASE_MS } from "./steps/steps.ts";
import { createStepActions, type StepActionsDeps } from "./steps/step-actions.ts";
import { createTransitions } from "./states/transitions.ts";
import { createReconcileVolumes } from "./volumes/reconcile-volumes.ts";

// Sessions and everything that acts on them over time: the pool, timers and reconciliation.
export interface SessionServices extends AsyncDisposable {
  sessions: Sessions;
  snapshots: Snapshots;
  runs: Runs;
  // Ends the programs of a paused session now, instead of later.
  hibernate(partnerId: string, id: string): Promise<void>;
  // Callers report every use of a session here.
  activity: Pick<Activity, "note" | "begin">;
  // And every call here, except those that only end something.
  calls: CallsUnderWay;
  reconcile: Reconcile;
  pool: Pick<Pool, "fill" | "targets">;
  // Repairs the state that an earlier server left, and starts the timers.
  start(): Promise<void>;
  // The work on sandboxes that has not ended, for people.
  unfinished(): string[];
}

export interface SessionServicesDeps extends StepActionsDeps {
  store: Store;
  links: StepActionsDeps["links"] & Pick<DaemonLinks, "request" | "save"> & LinkNews;
  // null if the sandboxes are not bound to a machine.
  host: string | null;
  servers: Pick<ServerDirectory, "elsewhere">;
  // Absent if the files of sandboxes are not on this machine.
  disk?: MachineDisk | undefined;
  // `timeoutAction` is for sessions that name none, and whose template and partner name none.
  rules: ScheduleDeps["rules"] & { timeoutAction: TimeoutAction; quarantineMs: number };
  capacity: CapacityOptions;
  snapshotLimits: SnapshotLimits;
  poolSize: number;
  // Absent: the pool does not grow.
  poolMax?: number;
  stepTimeoutMs: number;
  // How often a waiting create looks for a warm sandbox. Absent: the default.
  lookMs?: number;
  // Absent: nothing is recorded outside the store.
  records?: SessionRecords;
  observer?: SessionObserver;
  // Absent: this server builds no images.
  builds?: ImageBuilds;
}

// Half of the processors stay free for calls.
const POOL_PARALLEL = Math.min(8, Math.max(1, Math.floor(availableParallelism() / 2)));
// To start a hundred sandboxes at once delays each of them more than to start a few at a time.
const STARTS_AT_ONCE = 2 * availableParallelism();
const STARTS_PER_PARTNER = availableParallelism();
const TICK_MS = 1 * SECOND;
// A change on another server holds within a second.
const LIMITS_MS = SECOND / 2;
const BUSY_SAMPLE_MS = 30 * SECOND;
const RECONCILE_MS = 10 * SECOND;
const TIDY_MS = 60 * SECOND;

export function createSessionServices(deps: SessionServicesDeps): SessionServices {
  const {
    store,
    driver,
    links,
    egress,
    templates,
    clock,
    log,
    host,
    poolSize,
    poolMax = poolSize,
    disk = UNLIMITED_DISK,
    stepTimeoutMs,
    records = NO_RECORDS,
    observer = ignoreAll,
  } = deps;
  const site: Site = { driver: driver.name, host };
  // A process that died and its successor are different owners.
  const owner = randomBytes(8).toString("hex");
  const changes = createChanges();
  // The sandboxes of a cluster do not share a machine with this server.
  const turns = driver.traits.hostBound ? createSemaphore({ permits: STARTS_AT_ONCE, perHolder: STARTS_PER_PARTNER }) : undefined;
  const calls = createCallsUnderWay();
  const capacity = createCapacity(site, store.engine, { ...deps.capacity, disk, calls });
  const actions = createStepActions({
    ...deps,
    turns,
    giveWay: capacity.giveWay,
    requireAdopted: (id) => requireAdopted(store.db, id),
    requireReady: (id) => requireReady(store.db, id),
    snapshotBytes: async (id) => (await findSnapshot(store.db, id))?.bytes ?? null,
    recordNews: (session, signal) => outbox.recordLast(session, signal),
  });
  const onChange = (session: Session) => {
    records.note(session, capacity.giveWay);
    changes.announce(session);
    // For a session whose limits changed during a step or while it was paused.
    void liveLimits.apply(session);
  };
  const liveLimits = createLiveLimits({ ...deps, site });
  const transitions = createTransitions({ store, owner, leaseMs: LEASE_MS, clock, onChange });
  const steps = createSteps({ transitions, actions, stepTimeoutMs, clock, log, observer });
  const pool = createPool({ ...deps, observer, transitions, steps, capacity, site, size: poolSize, max: poolMax, parallel: POOL_PARALLEL });
  const placement = createPlacement({ ...deps, steps, capacity, site, pool, lease: transitions.lease });
  const sessions = createSessions({ ...deps, disk, observer, transitions, liveLimits, steps, capacity, site, changes, placement, pool });
  const quarantine = createQuarantine({ store, driver, egress, records, site, quarantineMs: deps.rules.quarantineMs, clock, log });
  const reconcile = createReconcile({ ...deps, quarantine, transitions, steps, site, owner, onFound: observer.found });
  const reconcileVolumes = createReconcileVolumes({ store, driver, quarantine, site, log, onFound: observer.found });
  const timed = { store, site, clock, log };
  const pausedRetention = createRetentionHold({
    ...timed,
    setting: "BERTH_PAUSED_DAYS",
    retentionMs: deps.rules.pausedMs,
    countDue: (beforeMs) => countPausedTooLong(store.db, site, beforeMs),
  });
  const snapshotRetention = createRetentionHold({
    ...timed,
    setting: "BERTH_SNAPSHOT_DAYS",
    retentionMs: deps.snapshotLimits.snapshotRetentionMs,
    countDue: (beforeMs) => countTakenBefore(store.db, site, beforeMs),
  });
  const schedule = createSchedule({ ...deps, disk, transitions, steps, capacity, site, retention: pausedRetention });
  const activity = createActivity({ store, clock, log });
  const agentActivity = createAgentActivity({ links, clock });
  const idleWatch = createIdleWatch({ store, steps, activity, agentActivity, site, clock, log });
  const busySandboxes = createBusySandboxes({ store, driver, templates, activity, agentActivity, site, clock });
  const setups = followSetups({ ...deps, transitions, steps, changes, site });
  const runLink = createRunLink(links);
  const outbox = createOutboxWatch({
    store,
    link: createOutboxLink(links),
    links,
    stopRun: runLink.interrupt,
    changes,
    site,
    clock,
    log,
  });
  const delivery = createRunDelivery({ store, link: runLink, changes, site, clock, log });
  const runs = createRunCalls({ ...deps, sessions, link: runLink, delivery, outbox, changes, activity, site });
  const { snapshots, tidy } = createSnapshotServices({
    ...deps,
    disk,
    quarantine,
    site,
    owner,
    retention: snapshotRetention,
    onFound: observer.found,
  });
  const diskPauses = createDiskPauses({ store, steps, site, disk, capacity, log });
  const timers: AsyncDisposable[] = [];

  const logFailure = (name: string, work: () => Promise<unknown>) => () =>
    runWork({ name }, work).then(
      () => {},
      (error: unknown) => log.error(`${name}.failed`, { error: String(error) }),
    );

  // The egress of sandboxes that outlived the last server closed with it.
  async function reopenEgress(): Promise<void> {
    for (const session of await sessionsInState(store.db, site, ["warm", "running", "thawing", "rebuilding"])) {
      if (templates.has(session.template)) await egress.open(session.sandboxId, templateOf(templates, session));
    }
  }

  // At once when the disk is full, and again for sessions that were in a step at that moment.
  function watchDisk(): AsyncDisposable[] {
    const tick = logFailure("disk", diskPauses.tick);
    let running = Promise.resolve();
    const listening = disk.onChange(() => void (running = running.then(tick)));
    const timer = clock.every(TICK_MS, tick);
    return [
      timer,
      {
        async [Symbol.asyncDispose]() {
          listening[Symbol.dispose]();
          await running;
        },
      },
    ];
  }

  return {
    sessions,
    snapshots,
    runs,
    hibernate: async (partnerId, id) => steps.run(await findOwnSession(store.db, partnerId, id), "hibernate"),
    activity,
    calls,
    reconcile,
    pool,
    unfinished: steps.describeRunning,
    async start() {
      await setMissingTimeoutActions(store.db, deps.rules.timeoutAction);
      await pausedRetention.begin();
      await snapshotRetention.begin();
      await reopenEgress();
      // Calls do not wait for this: a session in a step that a dead server left answers like one in any other step. On one
      // machine every earlier process of this site is dead, whatever its leases say. In a cluster it may be alive.
      const repairing = logFailure("reconcile", async () => {
        const predecessors = host !== null;
        await Promise.all([reconcile.run({ predecessors }), tidy.finishAbandoned({ predecessors }).then(tidy.keepUnknown)]);
        await reconcileVolumes();
        await completeRecords({ store, driver, records, site });
      })().then(pool.fillSoon);
      // A driver whose sandboxes see at once that the disk is full needs no pauses.
      if (driver.unwrittenBytes) timers.push(...watchDisk());
      const reading = logFailure("outbox", outbox.begin)();
      timers.push(
        { [Symbol.asyncDispose]: () => repairing },
        { [Symbol.asyncDispose]: () => reading },
        clock.every(TICK_MS, logFailure("schedule", schedule.tick)),
        clock.every(TICK_MS, logFailure("idle", idleWatch.tick)),
        clock.every(TICK_MS, logFailure("setup", setups.tick)),
        clock.every(TICK_MS, logFailure("runs", delivery.tick)),
        clock.every(LIMITS_MS, logFailure("limits", liveLimits.tick)),
        clock.every(BUSY_SAMPLE_MS, logFailure("idle", busySandboxes.sample)),
        clock.every(TICK_MS, logFailure("reconcile", reconcile.finishSteps)),
        clock.every(RECONCILE_MS, logFailure("reconcile", reconcile.repairDifferences)),
        clock.every(RECONCILE_MS, logFailure("snapshots", tidy.finishAbandoned)),
        clock.every(TIDY_MS, logFailure("snapshots", tidy.keepUnknown)),
        clock.every(TIDY_MS, logFailure("snapshots", tidy.removeOld)),
        clock.every(TIDY_MS, logFailure("quarantine", quarantine.removeExpired)),
        clock.every(RECONCILE_MS, logFailure("reconcile", reconcileVolumes)),
        clock.every(RECONCILE_MS, logFailure("pool", pool.fill)),
      );
    },
    async [Symbol.asyncDispose]() {
      await outbox[Symbol.asyncDispose]();
      await delivery[Symbol.asyncDispose]();
      for (const timer of timers) await timer[Symbol.asyncDispose]();
      await setups[Symbol.asyncDispose]();
      await activity.flushAll();
      await pool[Symbol.asyncDispose]();
      await records[Symbol.asyncDispose]();
      await sessions[Symbol.asyncDispose]();
    },
  };
}

const UNLIMITED_DISK: MachineDisk = {
  level: () => "enough",
  admitNew() {},
  admitWrites() {},
  onChange: () => ({ [Symbol.dispose]() {} }),
};
