import { randomBytes } from "node:crypto";
import { SECOND } from "../clock.ts";
import { runWork } from "../event-loop/loop-work.ts";
import type { Store } from "../store/open.ts";
import { sessionsInState, type Home } from "../store/sessions/sessions.ts";
import { createCapacity, type CapacityOptions } from "./capacity.ts";
import { createChanges, createSessions } from "./create-sessions.ts";
import { createPlacement } from "./placement.ts";
import { createPool } from "./pool.ts";
import { createReconcile, type Reconcile } from "./reconcile.ts";
import { createSchedule, type ScheduleDeps } from "./schedule.ts";
import type { Sessions } from "./sessions.ts";
import { createSteps } from "./steps.ts";
import { createStepActions, type StepActionsDeps } from "./step-actions.ts";

// Sessions and everything that keeps them true over time, put together.
export interface SessionServices extends AsyncDisposable {
  sessions: Sessions;
  reconcile: Reconcile;
  // Begins to put in order what an earlier server left behind, and to tick.
  start(): Promise<void>;
}

export interface SessionServicesDeps extends StepActionsDeps {
  store: Store;
  // null: the sandboxes are not bound to a machine.
  host: string | null;
  rules: ScheduleDeps["rules"];
  capacity: CapacityOptions;
  poolSize: number;
  stepTimeoutMs: number;
  // Counts what reconcile found, by kind.
  onFound?(kind: string): void;
}

const TICK_MS = 1 * SECOND;
const RECONCILE_MS = 10 * SECOND;

export function createSessionServices(deps: SessionServicesDeps): SessionServices {
  const { store, driver, egress, templates, clock, log, host, poolSize, stepTimeoutMs, onFound = () => {} } = deps;
  const home: Home = { driver: driver.name, host };
  // A process that died and its successor are two owners.
  const owner = randomBytes(8).toString("hex");
  const changes = createChanges();
  const actions = createStepActions(deps);
  const capacity = createCapacity(home, store.engine, deps.capacity);
  const steps = createSteps({ store, actions, owner, stepTimeoutMs, clock, log, onChange: changes.tell });
  const pool = createPool({ ...deps, steps, capacity, home, size: poolSize });
  const placement = createPlacement({ ...deps, steps, capacity, home, pool });
  const sessions = createSessions({ ...deps, steps, capacity, home, changes, placement, pool });
  const reconcile = createReconcile({ ...deps, steps, actions, home, owner, changes, onFound });
  const schedule = createSchedule({ ...deps, steps, capacity, home, changes });
  const ticking: AsyncDisposable[] = [];

  const quietly = (name: string, work: () => Promise<unknown>) => () =>
    runWork({ name }, work).then(
      () => {},
      (error: unknown) => log.error(`${name}.failed`, { error: String(error) }),
    );

  // The proxies of sandboxes that outlived the last server closed with it.
  async function reopenEgress(): Promise<void> {
    for (const row of await sessionsInState(store.db, home, ["warm", "running"])) {
      const template = templates.get(row.template);
      if (template) await egress.open(row.sandbox_id, template);
    }
  }

  return {
    sessions,
    reconcile,
    async start() {
      await reopenEgress();
      // Calls need not wait for this: a session in a step that a dead server left answers as one that is being worked on.
      // On one machine an earlier process of this home is dead, whatever its leases say; elsewhere it may live on.
      const tidying = quietly("reconcile", () => reconcile.run({ predecessors: host !== null }))().then(pool.fillSoon);
      ticking.push(
        { [Symbol.asyncDispose]: () => tidying },
        clock.every(TICK_MS, quietly("schedule", schedule.tick)),
        clock.every(
          RECONCILE_MS,
          quietly("reconcile", () => reconcile.finishSteps()),
        ),
        clock.every(RECONCILE_MS, quietly("reconcile", reconcile.repairDifferences)),
        clock.every(RECONCILE_MS, quietly("pool", pool.fill)),
      );
    },
    async [Symbol.asyncDispose]() {
      for (const timer of ticking) await timer[Symbol.asyncDispose]();
      await pool[Symbol.asyncDispose]();
      await sessions[Symbol.asyncDispose]();
    },
  };
}
