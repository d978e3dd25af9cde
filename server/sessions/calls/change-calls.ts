import { AppError, type Resources } from "@berth/contract";
import { MIN_EXTENSION_MS } from "@berth/contract/workspace/workspace.ts";
import type { Clock } from "../../clock.ts";
import { holdPoint } from "../../faults/hold-points.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import type { Store } from "../../store/open.ts";
import { idleTimes } from "../../store/sessions/idle.ts";
import type { PartnerSession, Session } from "../../store/sessions/session.ts";
import type { SessionChanges } from "../../store/sessions/columns.ts";
import type { LiveLimits } from "../limits/live-limits.ts";
import type { SessionChange, Sessions, SessionView } from "../sessions.ts";
import { renewSecrets, retryChanges } from "../setup/setup-changes.ts";
import { outcomeOf, type Trigger } from "../states/states.ts";
import type { Recorder, Transitions } from "../states/transitions.ts";
import { WARNING_MS } from "../steps/step-actions.ts";
import { findOwnSession, visible } from "../find-session.ts";

export interface ChangeCallsDeps {
  store: Store;
  transitions: Pick<Transitions, "apply">;
  liveLimits: Pick<LiveLimits, "apply" | "requireChangeable">;
  secrets: Secrets;
  clock: Clock;
}

// Decides the changes of a call from the session that it finds. null: there are none.
type Decide = (session: PartnerSession) => Decided | Promise<Decided>;
type Decided = { trigger: Trigger; changes: SessionChanges; record?: Recorder | undefined } | null;

// Each needs another step that moved the session in the meantime.
const MAX_ATTEMPTS = 20;

// The calls that change the row of a session, and its limits in the sandbox.
export function createChangeCalls(deps: ChangeCallsDeps): Pick<Sessions, "update" | "extend" | "retrySource"> {
  const { store, transitions, liveLimits, secrets, clock } = deps;

  // Applies a change to the session as it is. If a step moved it in the meantime, the change is decided again.
  async function change(partnerId: string, id: string, decide: Decide): Promise<SessionView> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const session = await findOwnSession(store.db, partnerId, id);
      await holdPoint(id, "change.read");
      const decided = await decide(session);
      if (!decided) return visible(session);
      const { trigger, changes: decidedChanges, record } = decided;
      const changed = await transitions.apply(session, trigger, {
        changes: { ...decidedChanges, updatedAtMs: nextUpdate(session) },
        record,
      });
      if (!changed || changed === "deleted") continue;
      await liveLimits.apply(changed);
      return visible(changed);
    }
    throw new AppError("session_busy", { retryAfterSeconds: 1 });
  }

  // The ETag depends on it, so it differs even within one millisecond.
  const nextUpdate = ({ updatedAtMs }: Session) => Math.max(clock.now(), updatedAtMs + 1);

  const update: Sessions["update"] = (partnerId, id, wanted, { record } = {}) =>
    change(partnerId, id, async (session) => {
      const outcome = outcomeOf("change", session.state);
      if (outcome.do === "refuse") throw new AppError(outcome.code);
      const { timeoutMs, idleTimeoutMs, metadata, autoResume, onTimeout } = wanted;
      const limits = changedLimits(session, wanted);
      if (limits.resources !== undefined) await liveLimits.requireChangeable(session, limits.resources);
      const isRunning = "expiresAtMs" in session && session.expiresAtMs !== null;
      const updated = {
        ...(timeoutMs !== undefined && { timeoutMs, isWarned: timeoutMs <= WARNING_MS }),
        ...(timeoutMs !== undefined && isRunning && { expiresAtMs: clock.now() + timeoutMs }),
        ...(idleTimeoutMs !== undefined && { idleTimeoutMs, ...(isRunning && idleTimes(idleTimeoutMs, clock.now())) }),
        ...(metadata !== undefined && { metadata }),
        ...(autoResume !== undefined && { autoResume }),
        ...(onTimeout !== undefined && { onTimeout }),
        ...limits,
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

  const retrySource: Sessions["retrySource"] = (partnerId, id, { record } = {}) =>
    change(partnerId, id, (session) => {
      const retried = retryChanges(session);
      if (!retried || session.state !== "running") throw new AppError("source_not_failed");
      return { trigger: "retry_source", changes: retried, record };
    });

  return { update, extend, retrySource };
}

function changedLimits(
  session: PartnerSession,
  { resources, egress, closeConnections }: SessionChange,
): Pick<SessionChanges, "resources" | "egress" | "limitsVersion" | "egressClosedVersion"> {
  if (resources === undefined && egress === undefined) return {};
  const limitsVersion = session.limitsVersion + 1;
  return {
    limitsVersion,
    ...(resources !== undefined && { resources: changedResources(session, resources) }),
    ...(egress !== undefined && { egress, ...(closeConnections && { egressClosedVersion: limitsVersion }) }),
  };
}

// The disk stays as it was made.
function changedResources({ resources: before }: PartnerSession, changed: Resources | null): Resources | null {
  if (changed) return { ...before, ...changed };
  return before?.diskMb === undefined ? null : { diskMb: before.diskMb };
}

const notExtendable = ({ state }: PartnerSession): AppError =>
  new AppError(state === "paused" || state === "hibernating" ? "session_paused" : "session_busy");
