import type { SandboxId, Template } from "@berth/contract";
import type { StartRequest } from "@berth/contract/daemon.ts";
import type { Clock } from "../clock.ts";
import { MINUTE } from "../clock.ts";
import type { Driver, SandboxSpec } from "../drivers/driver.ts";
import { failpoint } from "../faults/failpoints.ts";
import type { DaemonLinks } from "../daemon-link/daemon-links.ts";
import type { Log } from "../log.ts";
import { sha256Hex, type Secrets } from "../secrets/secrets.ts";
import type { PartnerSession, Session, SessionInStep, Step } from "../store/sessions/session.ts";
import type { SessionChanges } from "../store/sessions/write.ts";
import { withModelSettings } from "../agents/settings.ts";
import type { Templates } from "../templates.ts";

// The work of a step on its sandbox, and the changes that it writes when it ends. Everything here is idempotent: a step that a dead server
// left behind is done again.
export interface StepAction<In extends SessionInStep> {
  act(session: In, signal: AbortSignal): Promise<void>;
  // Written with the transition that ends the step.
  done?(session: In): SessionChanges;
  failed?(session: In): SessionChanges;
}

export type StepActions = { [Name in Step]: StepAction<Extract<SessionInStep, { state: Name }>> };

// Partners are warned this long before a session times out.
export const WARNING_MS = 5 * MINUTE;
const UNDO_TIMEOUT_MS = 10_000;

export interface StepActionsDeps {
  driver: Driver;
  links: Pick<DaemonLinks, "start" | "stop" | "forget">;
  egress: SandboxEgress;
  templates: Templates;
  // Variables that let the agent of this sandbox reach a model through the server.
  modelEnv(sandboxId: SandboxId, template: Template): Record<string, string>;
  secrets: Secrets;
  clock: Clock;
  log: Log;
}

// The egress of a sandbox, opened before the sandbox runs and closed when it is gone.
export interface SandboxEgress {
  open(sandboxId: SandboxId, template: Template): Promise<void>;
  close(sandboxId: SandboxId): Promise<void>;
  // Identifies the sandbox to an egress proxy that it reaches over the network. Absent for sandboxes with a socket of their own.
  issueToken?(holder: { sandboxId: SandboxId; template: string }): string;
}

export function createStepActions({ driver, links, egress, templates, modelEnv, secrets, clock, log }: StepActionsDeps): StepActions {
  function templateOf(session: Session): Template {
    const template = templates.get(session.template);
    if (!template) throw new Error(`The template ${session.template} of ${session.id} is not configured any more`);
    return template;
  }

  function specOf(session: Session): SandboxSpec {
    const { sandboxId, sealedToken } = session;
    return { id: sandboxId, template: templateOf(session), tokenHash: sha256Hex(secrets.open(sealedToken, sandboxId)) };
  }

  function startRequest(session: PartnerSession): StartRequest {
    const { sandboxId, sealedEnv, autoStartAgent } = session;
    const template = templateOf(session);
    const envVars = sealedEnv === null ? {} : (JSON.parse(secrets.open(sealedEnv, sandboxId)) as Record<string, string>);
    const env = { ...template.env, ...modelEnv(sandboxId, template), ...envVars };
    return {
      env,
      agent: template.agent && withModelSettings(template.agent, env),
      fallbackAgents: template.fallbackAgents?.map((agent) => withModelSettings(agent, env)) ?? [],
      autoStartAgent,
      ...(egress.issueToken ? { egressPass: egress.issueToken({ sandboxId, template: template.name }) } : {}),
    };
  }

  async function createSandbox(session: Session, signal: AbortSignal): Promise<void> {
    await egress.open(session.sandboxId, templateOf(session));
    await driver.create(specOf(session), signal);
    failpoint("make.created");
  }

  async function removeSandbox({ sandboxId }: Session, signal: AbortSignal): Promise<void> {
    links.forget(sandboxId);
    await driver.destroy(sandboxId, signal);
    failpoint("remove.destroyed");
    await egress.close(sandboxId);
  }

  async function stopDaemon({ sandboxId }: Session, signal: AbortSignal): Promise<void> {
    await links.stop(sandboxId, signal).catch((error: unknown) => log.warn("daemon.stop_failed", { sandboxId, error: String(error) }));
  }

  async function undoPause(session: PartnerSession, signal: AbortSignal): Promise<void> {
    const { restarted } = await driver.resume(specOf(session), signal);
    if (restarted || !driver.traits.freezes) await links.start(session.sandboxId, startRequest(session), signal);
  }

  // False if there is no daemon that still has its memory, or if the template is not configured any more.
  async function thaw(session: Session, signal: AbortSignal): Promise<boolean> {
    try {
      return !(await driver.resume(specOf(session), signal)).restarted;
    } catch {
      return false;
    }
  }

  async function wake(session: PartnerSession, signal: AbortSignal): Promise<void> {
    await egress.open(session.sandboxId, templateOf(session));
    try {
      await driver.resume(specOf(session), signal);
      failpoint("resume.woken");
      await links.start(session.sandboxId, startRequest(session), signal);
      failpoint("resume.started");
    } catch (error) {
      // The session does not count as running, or is still frozen, so the sandbox must not run either.
      await driver.pause(session.sandboxId, AbortSignal.timeout(UNDO_TIMEOUT_MS)).catch(() => {});
      throw error;
    }
  }

  const startTimeout = ({ timeoutMs }: PartnerSession): SessionChanges => ({
    expiresAtMs: clock.now() + timeoutMs,
    isWarned: timeoutMs <= WARNING_MS,
    pausedAtMs: null,
    isHibernated: false,
    stopReason: null,
  });

  return {
    warming: { act: createSandbox },

    creating: {
      async act(session, signal) {
        if (session.sandbox === "to_create") await createSandbox(session, signal);
        await links.start(session.sandboxId, startRequest(session), signal);
        failpoint("create.started");
      },
      done: startTimeout,
    },

    discarding: { act: removeSandbox },

    pausing: {
      async act(session, signal) {
        // A driver that cannot freeze ends every process, so the daemon first writes what it holds to disk.
        if (!driver.traits.freezes) await stopDaemon(session, signal);
        links.forget(session.sandboxId);
        try {
          await driver.pause(session.sandboxId, signal);
        } catch (error) {
          await undoPause(session, AbortSignal.timeout(UNDO_TIMEOUT_MS)).catch(() => {});
          throw error;
        }
        failpoint("pause.frozen");
      },
      done: () => ({ pausedAtMs: clock.now(), expiresAtMs: null, isHibernated: !driver.traits.freezes }),
      failed: () => ({ stopReason: null }),
    },

    thawing: { act: wake },

    hibernating: {
      // The daemon gets a moment to write scrollback and conversations to disk. If it cannot, it is stopped anyway.
      async act(session, signal) {
        if (await thaw(session, signal)) await stopDaemon(session, signal);
        links.forget(session.sandboxId);
        failpoint("hibernate.daemon_stopped");
        await driver.hibernate(session.sandboxId, signal);
        failpoint("hibernate.stopped");
      },
      done: () => ({ isHibernated: true }),
    },

    resuming: { act: wake, done: startTimeout },

    destroying: {
      act: removeSandbox,
      done: () => ({ destroyedAtMs: clock.now(), expiresAtMs: null, secrets: null }),
    },
  };
}
