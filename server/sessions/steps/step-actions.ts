import { ERRORS, type AppError, type SandboxId, type SnapshotId, type Template } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import { MINUTE } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import { describeError } from "../../faults/describe-error.ts";
import { failpoint } from "../../faults/failpoints.ts";
import type { DaemonLinks } from "../../daemon-link/daemon-links.ts";
import type { Semaphore } from "../../fairness/semaphore.ts";
import type { Log } from "../../log.ts";
import { NO_TIMES } from "../../store/sessions/idle.ts";
import { isPartnerSession, type PartnerSession, type Session, type SessionInStep, type Step } from "../../store/sessions/session.ts";
import type { SetupImage } from "../../store/sessions/session-setup.ts";
import type { SessionChanges } from "../../store/sessions/columns.ts";
import { inSpan, type Span } from "../../tracing/span.ts";
import { copyTime } from "./copy-time.ts";
import { specOf } from "../sandbox-spec.ts";
import { createStartRequests, isLikeBlank, type StartRequestsDeps } from "./start-requests.ts";

// The work of a step on its sandbox, and the changes that it writes when it ends. Everything here is idempotent: a step that a dead server
// left behind is done again.
export interface StepAction<In extends SessionInStep> {
  act(session: In, signal: AbortSignal, span?: Span): Promise<void>;
  // How much longer than other steps it may take, for example because it copies many files.
  extraMs?(session: In): Promise<number>;
  // Whether there is nothing left to do, because the pool has done it before.
  isPrepared?(session: In): boolean;
  // Written with the transition that ends the step.
  done?(session: In): SessionChanges;
  failed?(session: In, reason: AppError): SessionChanges;
}

export type StepActions = { [Name in Step]: StepAction<Extract<SessionInStep, { state: Name }>> };

// Partners are warned this long before a session times out.
export const WARNING_MS = 5 * MINUTE;
const UNDO_TIMEOUT_MS = 10_000;
const UNDO_REBUILD_TIMEOUT_MS = 60_000;
export const FETCH_IMAGE_MS = 10 * MINUTE;

export interface StepActionsDeps extends StartRequestsDeps {
  driver: Driver;
  links: Pick<DaemonLinks, "start" | "stop" | "announcePause" | "forget" | "prepare" | "isPrepared">;
  egress: SandboxEgress;
  meter: SandboxMeter;
  // Partners take turns with starts and removals of sandboxes. Absent for callers that act for no partner.
  turns?: Semaphore | undefined;
  // Waits a moment for other calls. Absent for callers that act for no partner.
  giveWay?: () => Promise<void>;
  // Rejects unless the snapshot of a template is the operator's. Absent for callers that create no sandboxes.
  requireAdopted?: (snapshotId: SnapshotId) => Promise<void>;
  // Rejects if the snapshot was deleted. Absent for callers that create no sandboxes.
  requireReady?: (snapshotId: SnapshotId) => Promise<void>;
  // The size of a snapshot; null if it is not known.
  snapshotBytes?: (snapshotId: SnapshotId) => Promise<number | null>;
  // Records what a sandbox that is about to be destroyed has reported. Never rejects. Absent for callers that record no events.
  recordNews?: (session: PartnerSession, signal: AbortSignal) => Promise<void>;
  clock: Clock;
  log: Log;
}

// The egress of a sandbox, opened before the sandbox runs and closed when it is gone.
export interface SandboxEgress {
  open(sandboxId: SandboxId, template: Template): Promise<void>;
  close(sandboxId: SandboxId): Promise<void>;
  // Applies another policy to a sandbox that runs, and closes open connections that it forbids if asked to.
  change(sandboxId: SandboxId, template: Template, options: { closeConnections: boolean }): Promise<void>;
  // Identifies the sandbox to an egress proxy that it reaches over the network. Absent for sandboxes with a socket of their own.
  issueToken?(holder: { sandboxId: SandboxId; template: string; hasOwnPolicy?: boolean }): string;
}

export interface SandboxMeter {
  // Measures a sandbox whose processes are about to end. Never rejects.
  measureLast(session: PartnerSession): Promise<void>;
}

export function createStepActions(deps: StepActionsDeps): StepActions {
  const { driver, links, egress, meter, turns, clock, log } = deps;
  const { startRequest, blankStartRequest } = createStartRequests(deps);

  const inTurn = <Result>(session: Session, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> =>
    turns ? turns({ holder: isPartnerSession(session) ? session.partnerId : null, signal }, work) : work();

  const specFor = (session: Session) => specOf(deps, session);

  async function createSandbox(session: Session, signal: AbortSignal, span?: Span): Promise<void> {
    const spec = specFor(session);
    const requireSnapshot = spec.snapshot === spec.template.snapshot ? deps.requireAdopted : deps.requireReady;
    if (spec.snapshot !== undefined) await requireSnapshot?.(spec.snapshot);
    await egress.open(session.sandboxId, spec.template);
    try {
      await inSpan(span, `${driver.name} create`, () => inTurn(session, signal, () => driver.create(spec, signal)));
    } finally {
      // If the snapshot was deleted in the meantime, that is the reason for a failure, and a copy of it may be incomplete.
      if (spec.snapshot !== undefined) await requireSnapshot?.(spec.snapshot);
    }
    failpoint("make.created");
  }

  async function copyTimeOf(session: Session): Promise<number> {
    const { snapshot: snapshotId } = specFor(session);
    return snapshotId === undefined || !deps.snapshotBytes ? 0 : copyTime(await deps.snapshotBytes(snapshotId));
  }

  async function removeSandbox(session: Session, signal: AbortSignal, span?: Span): Promise<void> {
    const { sandboxId } = session;
    links.forget(sandboxId);
    await inSpan(span, `${driver.name} destroy`, () => inTurn(session, signal, () => driver.destroy(sandboxId, signal)));
    failpoint("remove.destroyed");
    await egress.close(sandboxId);
  }

  async function stopDaemon({ sandboxId }: Session, signal: AbortSignal): Promise<void> {
    await links.stop(sandboxId, signal).catch((error: unknown) => log.warn("daemon.stop_failed", { sandboxId, error: String(error) }));
  }

  async function announcePause({ sandboxId }: Session, signal: AbortSignal): Promise<void> {
    const warn = (error: unknown) => log.warn("daemon.announce_pause_failed", { sandboxId, error: String(error) });
    await links.announcePause(sandboxId, signal).catch(warn);
  }

  async function undoPause(session: PartnerSession, signal: AbortSignal): Promise<void> {
    const { restarted } = await driver.resume(specFor(session), signal);
    if (restarted || !driver.traits.freezes) await links.start(session.sandboxId, startRequest(session), { signal });
  }

  // Another program may take the rest of the disk as soon as the session counts as paused. If the disk is full already, the sandbox still
  // has to stay frozen, and the resume repairs its disk.
  async function flush({ id: sessionId, sandboxId }: PartnerSession, signal: AbortSignal): Promise<void> {
    await driver.flush?.(sandboxId, signal).catch((error: unknown) => {
      if (!signal.aborted) log.error("sandbox.flush_failed", { sessionId, sandboxId, error: describeError(error) });
    });
  }

  // False if there is no daemon that still has its memory, or if the template is not configured any more.
  async function thaw(session: Session, signal: AbortSignal): Promise<boolean> {
    try {
      return !(await driver.resume(specFor(session), signal)).restarted;
    } catch {
      return false;
    }
  }

  async function wake(session: PartnerSession, signal: AbortSignal, span?: Span): Promise<void> {
    const spec = specFor(session);
    await egress.open(session.sandboxId, spec.template);
    const resume = () => driver.resume(spec, signal);
    // To thaw a sandbox is no work for the machine, so it does not wait for a turn.
    const isStopped = session.state === "rebuilding" || (session.state === "resuming" && session.isHibernated);
    try {
      await inSpan(span, `${driver.name} resume`, () => (isStopped ? inTurn(session, signal, resume) : resume()));
      failpoint("resume.woken");
      await links.start(session.sandboxId, startRequest(session), { signal, span });
      failpoint("resume.started");
    } catch (error) {
      // The session does not count as running, or is still frozen, so the sandbox must not run either.
      await driver.pause(session.sandboxId, AbortSignal.timeout(UNDO_TIMEOUT_MS)).catch(() => {});
      links.forget(session.sandboxId);
      throw error;
    }
  }

  async function rebuild(session: PartnerSession, signal: AbortSignal, span?: Span): Promise<void> {
    await stop(session, signal);
    try {
      await wake(session, signal, span);
    } catch (error) {
      // Back to the image that has worked.
      const undo = AbortSignal.timeout(UNDO_REBUILD_TIMEOUT_MS);
      await stop(session, undo);
      await wake(withImage(session, { status: "failed" }), undo);
      throw error;
    }
  }

  async function stop(session: PartnerSession, signal: AbortSignal): Promise<void> {
    await stopDaemon(session, signal);
    links.forget(session.sandboxId);
    await driver.hibernate(session.sandboxId, signal);
    failpoint("rebuild.stopped");
  }

  // Computed when the step ends, because a call may have changed the row's timeouts during the step.
  const startTimeouts = (): SessionChanges => ({
    timeoutsFrom: { startMs: clock.now(), warningMs: WARNING_MS },
    pausedAtMs: null,
    isHibernated: false,
    stopReason: null,
  });

  return {
    warming: {
      extraMs: copyTimeOf,
      async act(session, signal) {
        await createSandbox(session, signal);
        await links.prepare(session.sandboxId, blankStartRequest(session), signal);
      },
    },

    creating: {
      extraMs: async (session) => (session.sandbox === "to_create" ? copyTimeOf(session) : 0),
      isPrepared: (session) => session.sandbox === "from_pool" && isLikeBlank(session) && links.isPrepared(session.sandboxId),
      async act(session, signal, span) {
        if (session.sandbox === "to_create") await createSandbox(session, signal, span);
        await links.start(session.sandboxId, startRequest(session), { signal, span });
        failpoint("create.started");
      },
      done: startTimeouts,
    },

    discarding: { act: removeSandbox },

    pausing: {
      async act(session, signal, span) {
        // A driver that cannot freeze ends every process, so the daemon first writes what it holds to disk.
        if (driver.traits.freezes) await announcePause(session, signal);
        else {
          await meter.measureLast(session);
          await stopDaemon(session, signal);
        }
        try {
          await inSpan(span, `${driver.name} pause`, () => driver.pause(session.sandboxId, signal));
        } catch (error) {
          await undoPause(session, AbortSignal.timeout(UNDO_TIMEOUT_MS)).catch(() => {});
          throw error;
        }
        if (session.stopReason === "disk_full") await flush(session, signal);
        links.forget(session.sandboxId);
        failpoint("pause.frozen");
      },
      done: () => ({ pausedAtMs: clock.now(), ...NO_TIMES, isHibernated: !driver.traits.freezes }),
      failed: () => ({ stopReason: null }),
    },

    thawing: { act: wake },

    rebuilding: {
      // Where the engine fetches an image only when a sandbox starts in it.
      extraMs: async () => (driver.images?.fetch ? 0 : FETCH_IMAGE_MS),
      async act(session, signal, span) {
        await meter.measureLast(session);
        await rebuild(session, signal, span);
      },
      done: (session) => ({ setup: withImage(session, { status: "used" }).setup! }),
      failed: (session, error) => ({ setup: withImage(session, { status: "failed", reason: reasonOf(error) }).setup! }),
    },

    hibernating: {
      // The daemon gets a moment to write scrollback and conversations to disk. If it cannot, it is stopped anyway.
      async act(session, signal) {
        await meter.measureLast(session);
        if (await thaw(session, signal)) await stopDaemon(session, signal);
        links.forget(session.sandboxId);
        failpoint("hibernate.daemon_stopped");
        await driver.hibernate(session.sandboxId, signal);
        failpoint("hibernate.stopped");
      },
      done: () => ({ isHibernated: true }),
    },

    resuming: { act: wake, done: startTimeouts },

    destroying: {
      async act(session, signal) {
        if (!session.isHibernated) {
          await meter.measureLast(session);
          await deps.recordNews?.(session, signal);
        }
        await deps.giveWay?.();
        await removeSandbox(session, signal);
      },
      done: () => ({ destroyedAtMs: clock.now(), ...NO_TIMES, secrets: null }),
    },
  };
}

function withImage<In extends PartnerSession>(session: In, outcome: Pick<SetupImage, "status" | "reason">): In {
  const { setup } = session;
  return setup?.image ? { ...session, setup: { ...setup, image: { ...setup.image, ...outcome } } } : session;
}

// Why an image has failed. Absent if the error only says that there is no sandbox.
export const reasonOf = ({ message }: AppError) => (message === ERRORS.sandbox_failed.message ? undefined : message);
