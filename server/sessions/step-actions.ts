import type { Updateable } from "kysely";
import type { Template } from "@berth/contract";
import type { StartRequest } from "@berth/contract/daemon.ts";
import type { Clock } from "../clock.ts";
import { MINUTE } from "../clock.ts";
import type { Driver, SandboxSpec } from "../drivers/driver.ts";
import { failpoint } from "../faults/failpoints.ts";
import type { DaemonLinks } from "../daemon-link/daemon-links.ts";
import type { Log } from "../log.ts";
import { sha256Hex, type Secrets } from "../secrets/secrets.ts";
import type { SessionsTable } from "../store/schema.ts";
import type { SessionRow } from "../store/sessions/sessions.ts";
import { withModelSettings } from "../agents/settings.ts";
import type { Templates } from "../templates.ts";
import type { Step } from "./states.ts";

// What each step does to the sandbox, and what it writes when that is done. Everything here may be repeated: a step that
// a dead server left behind is simply done again.
export interface StepAction {
  act(row: SessionRow, signal: AbortSignal): Promise<void>;
  // Columns to write when the step is done, next to the state.
  done(row: SessionRow): Updateable<SessionsTable>;
  // What to take back when it failed.
  failed?(row: SessionRow): Updateable<SessionsTable>;
  event?: SessionEventType;
}

export type SessionEventType = "session.created" | "session.paused" | "session.resumed" | "session.destroyed";

export const WARNING_MS = 5 * MINUTE;
const UNDO_TIMEOUT_MS = 10_000;

export interface StepActionsDeps {
  driver: Driver;
  links: Pick<DaemonLinks, "start" | "stop" | "forget">;
  egress: SandboxEgress;
  templates: Templates;
  // Variables that let the agent reach a model through the server, for this session.
  modelEnv(row: SessionRow, template: Template): Record<string, string>;
  secrets: Secrets;
  clock: Clock;
  log: Log;
}

// The way out of a sandbox, opened before it runs and closed when it is gone.
export interface SandboxEgress {
  open(sandboxId: SessionRow["sandbox_id"], template: Template): Promise<void>;
  close(sandboxId: SessionRow["sandbox_id"]): Promise<void>;
  // Where sandboxes reach it over the network: by what it knows them.
  issueToken?(holder: { sandboxId: SessionRow["sandbox_id"]; template: string }): string;
}

export function createStepActions({
  driver,
  links,
  egress,
  templates,
  modelEnv,
  secrets,
  clock,
  log,
}: StepActionsDeps): Record<Step, StepAction> {
  function templateOf(row: SessionRow): Template {
    const template = templates.get(row.template);
    if (!template) throw new Error(`The template ${row.template} of ${row.id} is not configured any more`);
    return template;
  }

  function specOf(row: SessionRow): SandboxSpec {
    return { id: row.sandbox_id, template: templateOf(row), tokenHash: sha256Hex(secrets.open(row.token, row.sandbox_id)) };
  }

  function startRequest(row: SessionRow): StartRequest {
    const template = templateOf(row);
    const envVars = row.env === null ? {} : (JSON.parse(secrets.open(row.env, row.sandbox_id)) as Record<string, string>);
    const env = { ...template.env, ...modelEnv(row, template), ...envVars };
    return {
      env,
      agent: template.agent && withModelSettings(template.agent, env),
      fallbackAgents: template.fallbackAgents?.map((agent) => withModelSettings(agent, env)) ?? [],
      autoStartAgent: row.auto_start_agent === 1,
      ...(egress.issueToken ? { egressPass: egress.issueToken({ sandboxId: row.sandbox_id, template: template.name }) } : {}),
    };
  }

  async function make(row: SessionRow, signal: AbortSignal): Promise<void> {
    await egress.open(row.sandbox_id, templateOf(row));
    await driver.create(specOf(row), signal);
    failpoint("make.created");
  }

  async function remove(row: SessionRow, signal: AbortSignal): Promise<void> {
    links.forget(row.sandbox_id);
    await driver.destroy(row.sandbox_id, signal);
    failpoint("remove.destroyed");
    await egress.close(row.sandbox_id);
  }

  async function tellToStop(row: SessionRow, signal: AbortSignal): Promise<void> {
    await links
      .stop(row.sandbox_id, signal)
      .catch((error: unknown) => log.warn("daemon.stop_failed", { sandboxId: row.sandbox_id, error: String(error) }));
  }

  async function wake(row: SessionRow, signal: AbortSignal): Promise<void> {
    const { restarted } = await driver.resume(specOf(row), signal);
    if (restarted || !driver.traits.freezes) await links.start(row.sandbox_id, startRequest(row), signal);
  }

  // False when no daemon of before is there to be told anything, also because the template is not configured any more.
  async function thaw(row: SessionRow, signal: AbortSignal): Promise<boolean> {
    try {
      return !(await driver.resume(specOf(row), signal)).restarted;
    } catch {
      return false;
    }
  }

  const runs = (row: SessionRow): Updateable<SessionsTable> => ({
    expires_at: clock.now() + row.timeout_ms,
    warned: row.timeout_ms > WARNING_MS ? 0 : 1,
    paused_at: null,
    hibernated: 0,
    stop_reason: null,
  });

  return {
    warming: { act: make, done: () => ({}) },

    creating: {
      // A row from the pool has a sandbox already; then `create` was done under "warming".
      async act(row, signal) {
        if (row.generation === FIRST_GENERATION) await make(row, signal);
        await links.start(row.sandbox_id, startRequest(row), signal);
        failpoint("create.told");
      },
      done: runs,
      event: "session.created",
    },

    discarding: { act: remove, done: () => ({}) },

    pausing: {
      async act(row, signal) {
        // Where nothing is frozen, this is the end of every process: the daemon puts what it holds on disk first.
        if (!driver.traits.freezes) await tellToStop(row, signal);
        links.forget(row.sandbox_id);
        try {
          await driver.pause(row.sandbox_id, signal);
        } catch (error) {
          await wake(row, AbortSignal.timeout(UNDO_TIMEOUT_MS)).catch(() => {});
          throw error;
        }
        failpoint("pause.frozen");
      },
      done: () => ({ paused_at: clock.now(), expires_at: null, hibernated: driver.traits.freezes ? 0 : 1 }),
      failed: () => ({ stop_reason: null }),
      event: "session.paused",
    },

    hibernating: {
      // The daemon gets a moment to put scrollback and conversations on disk; one that is too sick for that is stopped anyway.
      async act(row, signal) {
        if (await thaw(row, signal)) await tellToStop(row, signal);
        links.forget(row.sandbox_id);
        failpoint("hibernate.told");
        await driver.hibernate(row.sandbox_id, signal);
        failpoint("hibernate.stopped");
      },
      done: () => ({ hibernated: 1 }),
    },

    resuming: {
      async act(row, signal) {
        await egress.open(row.sandbox_id, templateOf(row));
        try {
          await driver.resume(specOf(row), signal);
          failpoint("resume.woken");
          await links.start(row.sandbox_id, startRequest(row), signal);
          failpoint("resume.told");
        } catch (error) {
          // Back to where it came from: a sandbox that nobody counts as running must not run.
          await driver.pause(row.sandbox_id, AbortSignal.timeout(UNDO_TIMEOUT_MS)).catch(() => {});
          throw error;
        }
      },
      done: runs,
      event: "session.resumed",
    },

    destroying: {
      act: remove,
      done: () => ({ destroyed_at: clock.now(), expires_at: null, env: null, token: "" }),
      event: "session.destroyed",
    },
  };
}

// The generation that a row is inserted with.
export const FIRST_GENERATION = 1;
