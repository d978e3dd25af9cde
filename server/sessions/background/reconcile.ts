import { isAppError, type SandboxId } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { DaemonLinks } from "../../daemon-link/daemon-links.ts";
import type { Driver } from "../../drivers/driver.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
import { NO_TIMES } from "../../store/sessions/idle.ts";
import { abandonedSteps, findSessionBySandbox } from "../../store/sessions/read.ts";
import type { MalformedRow } from "../../store/sessions/parse-session.ts";
import { isInStep, type Site, type Session } from "../../store/sessions/session.ts";
import { compare, findDifference, LIST_TIMEOUT_MS, type Difference } from "./differences.ts";
import { BACKGROUND, forEachConcurrently } from "./for-each-concurrently.ts";
import { outcomeOf } from "../states/states.ts";
import type { Quarantine } from "../quarantine/quarantine.ts";
import type { SandboxEgress } from "../steps/step-actions.ts";
import type { Steps } from "../steps/steps.ts";
import type { Transitions } from "../states/transitions.ts";

// Makes store and engine agree again after a crash: finishes abandoned steps, destroys sandboxes whose session is destroyed, keeps those
// that the store does not know in quarantine, and corrects sessions whose sandbox is not in the condition that the store says. Runs at start and then periodically. If nothing
// is wrong, it costs two queries and one list.
export interface Reconcile {
  // Both of the following.
  run(options?: FinishOptions): Promise<Findings>;
  // How many abandoned steps there were.
  finishSteps(options?: FinishOptions): Promise<number>;
  // The differences that it found. Runs beside the steps, so that a step that hangs does not keep orphans alive.
  repairDifferences(): Promise<Difference[]>;
  // Finds the same differences as `repairDifferences`, without repairing them.
  compare(): Promise<Difference[]>;
}

export interface FinishOptions {
  // Also take over unexpired leases of other processes of this site, which are known to be dead.
  predecessors: boolean;
}

export interface Findings {
  steps: number;
  orphans: number;
  differences: number;
}

export interface ReconcileDeps {
  store: Store;
  driver: Driver;
  egress: Pick<SandboxEgress, "close">;
  links: Pick<DaemonLinks, "forget">;
  transitions: Transitions;
  steps: Steps;
  quarantine: Pick<Quarantine, "addSandbox">;
  site: Site;
  owner: string;
  clock: Clock;
  log: Log;
  // Counts the findings by kind, for the metrics.
  onFound(kind: string): void;
}

const DESTROY_TIMEOUT_MS = 30_000;

export function createReconcile(deps: ReconcileDeps): Reconcile {
  const { store, driver, egress, links, transitions, steps, quarantine, site, owner, clock, log, onFound } = deps;
  const reported = new Set<string>();

  // Logged once for each row, because it stays until an operator repairs it.
  function onMalformed(row: MalformedRow): void {
    if (reported.has(row.sessionId)) return;
    reported.add(row.sessionId);
    log.error("reconcile.malformed_row", { ...row });
  }

  async function run(options?: FinishOptions): Promise<Findings> {
    const [finished, found] = await Promise.all([finishSteps(options), repairDifferences()]);
    return {
      steps: finished,
      orphans: found.filter(({ kind }) => kind === "orphan" || kind === "unknown").length,
      differences: found.length,
    };
  }

  async function finishSteps({ predecessors }: FinishOptions = { predecessors: false }): Promise<number> {
    const found = await abandonedSteps(store.db, site, { nowMs: clock.now(), owner, isOnlyOwnerAlive: predecessors, onMalformed });
    const abandoned = found.filter((session) => isInStep(session) && (session.lease.owner !== owner || steps.isAbandoned(session)));
    await forEachConcurrently(abandoned, BACKGROUND, async (session) => {
      const { id: sessionId, sandboxId, state } = session;
      onFound(`step_${state}`);
      log.warn("reconcile.step", { sessionId, sandboxId, state });
      await steps
        .run(session, "abandoned")
        .catch((error: unknown) => log.error("reconcile.step_failed", { sessionId, state, error: String(error) }));
    });
    return abandoned.length;
  }

  async function repairDifferences(): Promise<Difference[]> {
    const found = await compare({ ...deps, onMalformed });
    await forEachConcurrently(found, BACKGROUND, (difference) =>
      repair(difference).catch((error: unknown) => log.error("reconcile.failed", { ...difference, error: String(error) })),
    );
    return found;
  }

  async function repair(difference: Difference): Promise<void> {
    onFound(difference.kind);
    log.warn("reconcile.difference", difference);
    if (difference.kind === "orphan") return destroyOrphan(difference.sandboxId);
    if (difference.kind === "unknown") return quarantine.addSandbox(difference.sandboxId);
    const session = await findSessionBySandbox(store.db, difference.sandboxId);
    if (!session || isInStep(session)) return;
    // The list may be older than the row, so look again.
    const condition = await driver.inspect(session.sandboxId, AbortSignal.timeout(LIST_TIMEOUT_MS));
    if (findDifference(session, condition)?.kind === difference.kind) await apply(session, difference.kind);
  }

  async function apply(session: Session, finding: Exclude<Difference["kind"], "orphan" | "unknown">): Promise<void> {
    const outcome = outcomeOf(finding, session.state);
    if (outcome.do === "enter") return runStep(session, finding);
    const nowMs = clock.now();
    const changes = finding === "lost" ? { pausedAtMs: nowMs, ...NO_TIMES, isHibernated: true } : { isHibernated: true };
    if (outcome.do === "ignore") return;
    await transitions.apply(session, finding, { changes });
    // The machine of the sandbox may not answer any more.
    if (finding === "lost") links.forget(session.sandboxId);
  }

  async function runStep(session: Session, finding: Exclude<Difference["kind"], "orphan" | "unknown">): Promise<void> {
    await steps.run(session, finding).catch((error: unknown) => {
      // A partner's call took over.
      if (!isAppError(error, "session_busy")) throw error;
    });
  }

  // Its egress may still be open here: its row existed when that was opened.
  async function destroyOrphan(sandboxId: SandboxId): Promise<void> {
    await driver.destroy(sandboxId, AbortSignal.timeout(DESTROY_TIMEOUT_MS));
    await egress.close(sandboxId);
  }

  return { run, finishSteps, repairDifferences, compare: () => compare({ ...deps, onMalformed }) };
}
