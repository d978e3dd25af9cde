import { setTimeout as delay } from "node:timers/promises";
import { AppError, isAppError, isSandboxId, isSessionId, type Template } from "@berth/contract";
import { MIN_EXTENSION_MS } from "@berth/contract/workspace.ts";
import type { Clock } from "../clock.ts";
import type { MachineDisk } from "../disk-space.ts";
import type { Driver } from "../drivers/driver.ts";
import { holdPoint } from "../faults/hold-points.ts";
import { createLoopTurns } from "../event-loop/loop-turns.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { Store } from "../store/open.ts";
import { listSessions } from "../store/sessions/list.ts";
import { idleTimes } from "../store/sessions/idle.ts";
import { findSession } from "../store/sessions/read.ts";
import { isAtSite, isInStep, isPartnerSession, statusOf, type Site, type PartnerSession, type Session } from "../store/sessions/session.ts";
import { readView, readViewBySandbox, viewOf } from "../store/sessions/view.ts";
import type { SessionChanges } from "../store/sessions/write.ts";
import { limitTemplate } from "../session-limits.ts";
import { templateHash, type Templates } from "../templates.ts";
import type { Capacity } from "./pool/capacity.ts";
import type { Changes } from "./changes.ts";
import type { Placement } from "./pool/placement.ts";
import type { Pool } from "./pool/pool.ts";
import type { ServerDirectory } from "./server-directory.ts";
import type { ChangeOptions, Sessions, SessionView } from "./sessions.ts";
import { outcomeOfError, secondsSince, type SessionObserver, type Start } from "./session-observer.ts";
import { renewSecrets, retryChanges } from "./setup/setup-changes.ts";
import type { Outcome } from "./states/outcome.ts";
import { outcomeOf, type Trigger } from "./states/states.ts";
import { WARNING_MS } from "./steps/step-actions.ts";
import type { Steps } from "./steps/steps.ts";
import type { Recorder, Transitions } from "./states/transitions.ts";
import { withVolumes } from "./volumes/mounts.ts";
import { createWakeOnce } from "./wake-once.ts";

export interface SessionsDeps {
  store: Store;
  transitions: Transitions;
  steps: Steps;
  driver: Pick<Driver, "name" | "traits" | "volumes">;
  templates: Templates;
  capacity: Capacity;
  site: Site;
  secrets: Secrets;
  clock: Clock;
  changes: Changes;
  placement: Placement;
  pool: Pick<Pool, "makeRoom" | "fillSoon">;
  servers: Pick<ServerDirectory, "elsewhere">;
  observer: Pick<SessionObserver, "called">;
  disk: Pick<MachineDisk, "admitNew" | "admitWrites">;
}

// The partner's calls. Each reads the session, asks the table what the call means in its state, and does that.
export function createSessions(deps: SessionsDeps): Sessions {
  const {
    store,
    transitions,
    steps,
    driver,
    templates,
    capacity,
    site,
    secrets,
    clock,
    changes,
    placement,
    pool,
    servers,
    observer,
    disk,
  } = deps;

  const nextSlice = createLoopTurns();

  const create: Sessions["create"] = async (partner, request, { record, span } = {}) => {
    const named = templates.get(request.template);
    if (!named) throw new AppError("validation_failed", { details: [{ field: "template", message: "Unknown template" }] });
    const limited = withVolumes(limitTemplate(named, request), request.volumes, driver);
    // A warm sandbox fits only if it starts with the same files.
    const snapshot = request.files?.snapshotId ?? (request.source ? undefined : limited.snapshot);
    const template = snapshot === limited.snapshot ? limited : withSnapshot(limited, snapshot);
    const kind = { template, templateHash: templateHash(template, driver.traits.recipe) };
    const startedMs = performance.now();
    try {
      disk.admitNew();
      const { session, start } = await placement.place({ kind, partner, request, record, span });
      observer.called({ operation: "create", start, outcome: "ok", seconds: secondsSince(startedMs) });
      return visible(session);
    } catch (error) {
      observer.called({ operation: "create", start: "none", outcome: outcomeOfError(error), seconds: secondsSince(startedMs) });
      throw error;
    }
  };

  async function find(partnerId: string, id: string): Promise<PartnerSession> {
    const session = await findSession(store.db, idOrUnused(id));
    if (!session || !isPartnerSession(session) || session.partnerId !== partnerId || viewOf(session) === null)
      throw new AppError("session_not_found");
    return session;
  }

  async function perform(partnerId: string, id: string, call: Call): Promise<SessionView> {
    for (;;) {
      const session = await find(partnerId, id);
      const outcome = outcomeOf(call.trigger, session.state);
      const view = answer(session, outcome);
      if (view) return view;
      if (call.trigger === "wake" && !session.autoResume && statusOf(session) === "paused") throw new AppError("session_paused");
      if (!isAtSite(session, site)) throw await servers.elsewhere(session.site);
      const ended = outcome.do === "enter" ? await runStep(session, call) : await awaitStep(session, outcome, call);
      if (ended) return visible(ended);
    }
  }

  // null: the session has changed, or there is room for it now. Look again.
  async function runStep(session: PartnerSession, { trigger, changes: noted = {}, record, span }: Call): Promise<Session | null> {
    // Only a hibernated session needs room for its memory.
    const resumes = trigger === "resume" || trigger === "wake";
    if (resumes) disk.admitWrites();
    const needsRoom = resumes && session.state === "paused" && session.isHibernated;
    const start: Start = needsRoom ? "cold" : resumes ? "warm" : "none";
    const startedMs = performance.now();
    const step = await steps.begin(session, trigger, { changes: noted, record, span, ...(needsRoom && { admit: capacity.admit }) });
    if (!step) return null;
    if (needsRoom) pool.fillSoon();
    try {
      const ended = await steps.perform(step);
      observer.called({ operation: trigger, start, outcome: "ok", seconds: secondsSince(startedMs) });
      return ended;
    } catch (error) {
      if (needsRoom && isAppError(error, "capacity_reached") && (await pool.makeRoom())) return null;
      // Someone else moved the session.
      if (isAppError(error, "session_busy")) return null;
      observer.called({ operation: trigger, start, outcome: outcomeOfError(error), seconds: secondsSince(startedMs) });
      throw error;
    }
  }

  // Lets the step under way end, or finishes it if no server works on it. null: look again.
  async function awaitStep(session: PartnerSession, { do: action }: Outcome, { record }: Call): Promise<Session | null> {
    if (!isInStep(session) || !steps.isAbandoned(session)) {
      await delay(POLL_MS);
      return null;
    }
    const joins = action === "join";
    const step = await steps.begin(session, "abandoned", { record: joins ? record : undefined });
    const ended = step && (await steps.perform(step));
    return joins ? ended : null;
  }

  // Applies a change to the session as it is. If a step moved it meanwhile, the change is decided again.
  async function change(partnerId: string, id: string, decide: Decide): Promise<SessionView> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const session = await find(partnerId, id);
      await holdPoint(id, "change.read");
      const decided = decide(session);
      if (!decided) return visible(session);
      const { trigger, changes: decidedChanges, record } = decided;
      const changed = await transitions.apply(session, trigger, {
        changes: { ...decidedChanges, updatedAtMs: nextUpdate(session) },
        record,
      });
      if (changed && changed !== "deleted") return visible(changed);
    }
    throw new AppError("session_busy", { retryAfterSeconds: 1 });
  }

  const update: Sessions["update"] = (partnerId, id, wanted, { record } = {}) =>
    change(partnerId, id, (session) => {
      const outcome = outcomeOf("change", session.state);
      if (outcome.do === "refuse") throw new AppError(outcome.code);
      const { timeoutMs, idleTimeoutMs, metadata, autoResume, onTimeout } = wanted;
      const isRunning = "expiresAtMs" in session && session.expiresAtMs !== null;
      const updated = {
        ...(timeoutMs !== undefined && { timeoutMs, isWarned: timeoutMs <= WARNING_MS }),
        ...(timeoutMs !== undefined && isRunning && { expiresAtMs: clock.now() + timeoutMs }),
        ...(idleTimeoutMs !== undefined && { idleTimeoutMs, ...(isRunning && idleTimes(idleTimeoutMs, clock.now())) }),
        ...(metadata !== undefined && { metadata }),
        ...(autoResume !== undefined && { autoResume }),
        ...(onTimeout !== undefined && { onTimeout }),
        ...renewSecrets(secrets, session, wanted),
      };
      return { trigger: "change", changes: updated, record };
    });

  const extend: Sessions["extend"] = (partnerId, id) =>
    change(partnerId, id, (session) => {
      if (outcomeOf("extend", session.state).do !== "update") throw notExtendable(session);
      const { timeoutMs, expiresAtMs, extendUntilMs } = session as Extract<PartnerSession, { state: "running" }>;
      const untilMs = Math.min(expiresAtMs + timeoutMs, extendUntilMs ?? 0);
      if (untilMs - expiresAtMs < MIN_EXTENSION_MS) return null;
      return { trigger: "extend", changes: { expiresAtMs: untilMs, isWarned: untilMs - clock.now() <= WARNING_MS } };
    });

  // The ETag depends on it, so it differs even within one millisecond.
  const nextUpdate = ({ updatedAtMs }: Session) => Math.max(clock.now(), updatedAtMs + 1);

  const retrySource: Sessions["retrySource"] = (partnerId, id, { record } = {}) =>
    change(partnerId, id, (session) => {
      const retried = retryChanges(session);
      if (!retried || session.state !== "running") throw new AppError("source_not_failed");
      return { trigger: "retry_source", changes: retried, record };
    });

  return {
    create,
    async get(partnerId, id) {
      const view = await readView(store, idOrUnused(id));
      if (!view || view.partnerId !== partnerId) throw new AppError("session_not_found");
      return view;
    },
    pause: (partnerId, id, options) => perform(partnerId, id, { trigger: "pause", ...options }),
    resume: (partnerId, id, { autoStartAgent, ...options }) =>
      perform(partnerId, id, { trigger: "resume", changes: { autoStartAgent }, ...options }),
    destroy: (partnerId, id, options) => perform(partnerId, id, { trigger: "destroy", ...options }),
    update,
    wake: createWakeOnce({ wake: (partnerId, id) => perform(partnerId, id, { trigger: "wake" }) }),
    extend,
    retrySource,
    list: (partnerId, filter) => listSessions(store.db, partnerId, filter, nextSlice),
    bySandbox: async (sandboxId) => (isSandboxId(sandboxId) && (await readViewBySandbox(store, sandboxId))) || null,
    onChange: changes.listen,
    async [Symbol.asyncDispose]() {
      await placement[Symbol.asyncDispose]();
      await steps.idle();
    },
  };
}

interface Call extends ChangeOptions {
  trigger: "pause" | "resume" | "wake" | "destroy";
  changes?: SessionChanges;
}

// The changes of a call in a session that it finds. null: none.
type Decide = (session: PartnerSession) => { trigger: Trigger; changes: SessionChanges; record?: Recorder | undefined } | null;

// Each needs another step that moved the session meanwhile.
const MAX_ATTEMPTS = 20;

function withSnapshot(template: Template, snapshot: string | undefined): Template {
  const { snapshot: _, ...rest } = template;
  return { ...rest, ...(snapshot !== undefined && { snapshot }) };
}

const POLL_MS = 25;

// The reply to a call that changes nothing. null: the call needs a step.
function answer(session: PartnerSession, outcome: Outcome): SessionView | null {
  if (outcome.do === "answer_unchanged") return visible(session);
  if (outcome.do !== "refuse") return null;
  const isBusy = outcome.code === "session_busy";
  throw new AppError(
    outcome.code,
    isBusy ? { message: `The session is ${session.state}; try again in a moment`, retryAfterSeconds: 1 } : {},
  );
}

const notExtendable = ({ state }: PartnerSession): AppError =>
  new AppError(state === "paused" || state === "hibernating" ? "session_paused" : "session_busy");

// A malformed id is looked up too, under an id that does not exist, so that every 404 takes the same time.
const idOrUnused = (id: string) => (isSessionId(id) ? id : UNUSED_ID);
const UNUSED_ID = `ses_${"0".repeat(26)}`;

function visible(session: Session): SessionView {
  const view = viewOf(session);
  if (view === null) throw new AppError("session_not_found");
  return view;
}
