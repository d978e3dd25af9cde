import { AppError, type SandboxId, type SessionId } from "@berth/contract";
import { SECOND, type Clock } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import { createKeyedLock } from "../../fairness/keyed-lock.ts";
import { failpoint } from "../../faults/failpoints.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
import { changedLimits } from "../../store/sessions/live-limits.ts";
import { findSession } from "../../store/sessions/read.ts";
import { isAtSite, isPartnerSession, type PartnerSession, type Session, type Site } from "../../store/sessions/session.ts";
import type { Templates } from "../../templates.ts";
import { templateOf } from "../sandbox-spec.ts";
import type { ServerDirectory } from "../server-directory.ts";
import type { SandboxEgress } from "../steps/step-actions.ts";

// Brings changed limits of a session (`egress`, `resources`) into its running sandbox. The row is written first, by whatever server gets
// the call; the server of the sandbox compares the number of the row's last change with the one that it has applied. A server that has
// just started has applied none, so that a crash between the row and the sandbox is repaired.
export interface LiveLimits {
  // Applies the limits of a session, if they have changed and its sandbox runs here. If that fails, `tick` tries again.
  apply(session: Session): Promise<void>;
  // Applies what other servers have changed.
  tick(): Promise<void>;
  // Rejects if the sandbox of the session cannot get these resources.
  requireChangeable(session: PartnerSession, changed: PartnerSession["resources"]): Promise<void>;
}

export interface LiveLimitsDeps {
  store: Store;
  driver: Driver;
  egress: Pick<SandboxEgress, "change">;
  templates: Templates;
  servers: Pick<ServerDirectory, "elsewhere">;
  site: Site;
  clock: Clock;
  log: Log;
}

const CHANGE_TIMEOUT_MS = 10 * SECOND;
const RETRY_MS = 10 * SECOND;
const MiB = 1024 * 1024;

export function createLiveLimits({ store, driver, egress, templates, servers, site, clock, log }: LiveLimitsDeps): LiveLimits {
  const oneAtATime = createKeyedLock();
  const applied = new Map<SandboxId, number>();
  const retryAtMs = new Map<SandboxId, number>();

  async function bring(id: SessionId, sandboxId: SandboxId): Promise<void> {
    try {
      await oneAtATime(sandboxId, () => bringNow(id, sandboxId));
      retryAtMs.delete(sandboxId);
    } catch (error) {
      log.warn("limits.not_applied", { sessionId: id, sandboxId, error: String(error) });
      retryAtMs.set(sandboxId, clock.now() + RETRY_MS);
    }
  }

  async function bringNow(id: SessionId, sandboxId: SandboxId): Promise<void> {
    // The row as it is now, because another change may have come in between.
    const session = await findSession(store.db, id);
    const before = applied.get(sandboxId) ?? 0;
    if (!session || !isRunningHere(session) || session.limitsVersion === before) return;
    failpoint("limits.recorded");
    const template = templateOf(templates, session);
    await egress.change(sandboxId, template, { closeConnections: session.egressClosedVersion > before });
    await driver.liveLimits?.change(sandboxId, template, AbortSignal.timeout(CHANGE_TIMEOUT_MS));
    applied.set(sandboxId, session.limitsVersion);
  }

  const isRunningHere = (session: Session): session is Extract<PartnerSession, { state: "running" }> =>
    isPartnerSession(session) && session.state === "running" && isAtSite(session, site);

  return {
    async apply(session) {
      if (isRunningHere(session) && session.limitsVersion !== (applied.get(session.sandboxId) ?? 0))
        await bring(session.id, session.sandboxId);
    },

    async tick() {
      const changed = await changedLimits(store.db, site);
      const known = new Set(changed.map(({ sandboxId }) => sandboxId));
      for (const sandboxId of applied.keys()) if (!known.has(sandboxId)) applied.delete(sandboxId);
      for (const sandboxId of retryAtMs.keys()) if (!known.has(sandboxId)) retryAtMs.delete(sandboxId);
      const due = changed.filter(
        ({ sandboxId, limitsVersion }) => applied.get(sandboxId) !== limitsVersion && (retryAtMs.get(sandboxId) ?? 0) <= clock.now(),
      );
      await Promise.all(due.map(({ id, sandboxId }) => bring(id, sandboxId)));
    },

    async requireChangeable(session, changed) {
      const [now, then] = [session.resources, changed].map((resources) => templateOf(templates, { ...session, resources }));
      const isSame = now!.cpus === then!.cpus && now!.memoryMb === then!.memoryMb;
      const isStopped = session.state === "paused" && session.isHibernated;
      if (isSame || isStopped) return;
      if (!isAtSite(session, site)) throw await servers.elsewhere(session.site);
      // During a step the sandbox may start with the limits that it had.
      if (!driver.liveLimits) throw new AppError(STEADY.has(session.state) ? "resources_fixed" : "session_busy");
      if (then!.memoryMb >= now!.memoryMb) return;
      const held = await driver.liveLimits.heldMemoryBytes(session.sandboxId, AbortSignal.timeout(CHANGE_TIMEOUT_MS));
      if (held > then!.memoryMb * MiB) throw new AppError("memory_in_use");
    },
  };
}

const STEADY: ReadonlySet<Session["state"]> = new Set(["running", "paused"]);
