import { setTimeout as delay } from "node:timers/promises";
import { AppError, isAppError, isSandboxId, isSessionId } from "@berth/contract";
import type { Clock } from "../clock.ts";
import type { Driver } from "../drivers/driver.ts";
import type { Store } from "../store/open.ts";
import { listSessions } from "../store/sessions/list.ts";
import {
  findSession,
  readSession,
  readSessionBySandbox,
  updateSession,
  type Home,
  type SeenRow,
  type SessionRow,
} from "../store/sessions/sessions.ts";
import { templateHash, type Templates } from "../templates.ts";
import type { Capacity } from "./capacity.ts";
import type { Placement } from "./placement.ts";
import type { Pool } from "./pool.ts";
import type { ChangeOptions, Sessions, SessionView } from "./sessions.ts";
import { VERDICTS, type Trigger } from "./states.ts";
import type { InTransaction, Steps } from "./steps.ts";
import { viewOf } from "./view.ts";
import { WARNING_MS } from "./step-actions.ts";

export interface SessionsDeps {
  store: Store;
  steps: Steps;
  driver: Pick<Driver, "traits">;
  templates: Templates;
  capacity: Capacity;
  home: Home;
  clock: Clock;
  changes: Changes;
  placement: Placement;
  pool: Pick<Pool, "makeRoom" | "fillSoon">;
}

// The partner's calls: each reads the row, asks the table what this trigger means in this state, and begins the step.
export function createSessions(deps: SessionsDeps): Sessions {
  const { store, steps, driver, templates, capacity, home, clock, changes, placement, pool } = deps;

  const create: Sessions["create"] = async (partner, request, options = {}) => {
    const template = templates.get(request.template);
    if (!template) throw new AppError("validation_failed", { details: [{ field: "template", message: "Unknown template" }] });
    const kind = { template, templateHash: templateHash(template, driver.traits.recipe) };
    return seen(await placement.place({ kind, partner, request }, also(options)));
  };

  async function find(partnerId: string, id: string): Promise<SessionRow> {
    const row = await findSession(store.db, wellFormed(id));
    if (!row || row.partner_id !== partnerId || viewOf(row) === null) throw new AppError("session_not_found");
    return row;
  }

  // Takes the session through the step that `trigger` means for it, or says why not.
  async function move(
    partnerId: string,
    id: string,
    trigger: Trigger,
    note: Parameters<Steps["begin"]>[2],
    options?: ChangeOptions,
  ): Promise<SessionView> {
    for (;;) {
      const row = await find(partnerId, id);
      const verdict = VERDICTS[trigger][row.state];
      if ("refuse" in verdict)
        throw new AppError(
          verdict.refuse,
          verdict.refuse === "session_busy" ? { message: `The session is ${row.state}; try again in a moment`, retryAfterSeconds: 1 } : {},
        );
      if ("already" in verdict) return seen(row);
      requireHere(row);
      // Only who was hibernated takes up a place anew.
      const returns = "begin" in verdict && verdict.begin === "resuming" && row.hibernated === 1;
      const begun =
        "wait" in verdict ? await afterStep(row) : await steps.begin(row, verdict.begin, note, returns ? capacity.admit : undefined);
      if (!begun) continue;
      if (returns) pool.fillSoon();
      if (begun.state === "destroying") await steps.interrupt(begun.id);
      try {
        return seen((await steps.perform(begun, also(options)))!);
      } catch (error) {
        if (!returns || !isAppError(error, "capacity_reached") || !(await pool.makeRoom())) throw error;
      }
    }
  }

  // Lets a step under way come to its end, or takes it over when nobody works on it any more.
  async function afterStep(row: SessionRow): Promise<SessionRow | null> {
    if (row.lease_until !== null && row.lease_until < clock.now()) return steps.takeOver(row);
    await delay(POLL_MS);
    return null;
  }

  function requireHere(row: SessionRow): void {
    if (row.driver === home.driver && row.host === home.host) return;
    throw new AppError("session_elsewhere");
  }

  return {
    create,
    async get(partnerId, id) {
      const row = await readSession(store, wellFormed(id));
      const view = row && viewOf(row);
      if (!view || view.partnerId !== partnerId) throw new AppError("session_not_found");
      return view;
    },
    pause: (partnerId, id, options) => move(partnerId, id, "pause", { stop_reason: "api" }, options),
    resume: (partnerId, id, { autoStartAgent, ...options }) =>
      move(partnerId, id, "resume", { auto_start_agent: autoStartAgent ? 1 : 0 }, options),
    destroy: (partnerId, id, options) => move(partnerId, id, "destroy", { stop_reason: "api" }, options),
    async update(partnerId, id, change, options) {
      const row = await find(partnerId, id);
      if (row.state === "destroyed" || row.state === "destroying") throw new AppError("session_not_found");
      const timeout = change.timeoutMs === undefined ? {} : { timeout_ms: change.timeoutMs, warned: change.timeoutMs > WARNING_MS ? 0 : 1 };
      const expiry = change.timeoutMs === undefined || row.expires_at === null ? {} : { expires_at: clock.now() + change.timeoutMs };
      const metadata = change.metadata === undefined ? {} : { metadata: JSON.stringify(change.metadata) };
      const updated_at = Math.max(clock.now(), row.updated_at + 1);
      const updated = await store.transaction(async (tx) => {
        const changed = await updateSession(tx, row, { ...timeout, ...expiry, ...metadata, updated_at });
        if (!changed) throw new AppError("session_busy", { retryAfterSeconds: 1 });
        await also(options)?.(tx, changed);
        return changed;
      });
      changes.tell(updated);
      return seen(updated);
    },
    async list(partnerId, filter) {
      const { rows, next } = await listSessions(store.db, partnerId, filter);
      return { sessions: rows.map(seen), next };
    },
    async bySandbox(sandboxId) {
      const row = isSandboxId(sandboxId) ? await readSessionBySandbox(store, sandboxId) : undefined;
      return row ? viewOf(row) : null;
    },
    onChange: changes.listen,
    async [Symbol.asyncDispose]() {
      await placement[Symbol.asyncDispose]();
      await steps.idle();
    },
  };
}

const POLL_MS = 25;

// An id that cannot be one is looked for all the same, under a name that nobody has: 404 takes the same time for all.
const wellFormed = (id: string) => (isSessionId(id) ? id : UNUSED_ID);
const UNUSED_ID = `ses_${"0".repeat(26)}`;

function seen(row: SeenRow): SessionView {
  const view = viewOf(row);
  if (view === null) throw new AppError("session_not_found");
  return view;
}

const also = (options: ChangeOptions | undefined): InTransaction | undefined => {
  const inTransaction = options?.inTransaction;
  return inTransaction && ((tx, row) => inTransaction(tx, seen(row)));
};

// Who wants to know of changes, and the way to tell them.
export interface Changes {
  tell(row: SessionRow): void;
  listen(listener: (session: SessionView) => void): Disposable;
}

export function createChanges(): Changes {
  const listeners = new Set<(session: SessionView) => void>();
  return {
    tell(row) {
      const view = viewOf(row);
      if (view !== null) for (const listener of listeners) listener(view);
    },
    listen(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },
  };
}
