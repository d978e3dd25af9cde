import { setTimeout as delay } from "node:timers/promises";
import { AppError, isAppError } from "@berth/contract";
import type { MachineDisk } from "../../disk-space.ts";
import type { Store } from "../../store/open.ts";
import { isAtSite, isInStep, statusOf, type PartnerSession, type Session, type Site } from "../../store/sessions/session.ts";
import type { SessionChanges } from "../../store/sessions/columns.ts";
import type { Capacity } from "../pool/capacity.ts";
import type { Pool } from "../pool/pool.ts";
import type { ServerDirectory } from "../server-directory.ts";
import { outcomeOfError, secondsSince, type SessionObserver, type Start } from "../session-observer.ts";
import type { ChangeOptions, Sessions, SessionView } from "../sessions.ts";
import type { Outcome } from "../states/outcome.ts";
import { outcomeOf } from "../states/states.ts";
import type { Steps } from "../steps/steps.ts";
import { findOwnSession, visible } from "../find-session.ts";
import { createWakeOnce } from "./wake-once.ts";

export interface StepCallsDeps {
  store: Store;
  steps: Steps;
  capacity: Capacity;
  site: Site;
  pool: Pick<Pool, "makeRoom" | "fillSoon">;
  servers: Pick<ServerDirectory, "elsewhere">;
  observer: Pick<SessionObserver, "called">;
  disk: Pick<MachineDisk, "admitWrites">;
}

interface Call extends ChangeOptions {
  trigger: "pause" | "resume" | "wake" | "destroy";
  changes?: SessionChanges;
}

const POLL_MS = 25;

// The calls that work on the sandbox of a session, in a step.
export function createStepCalls(deps: StepCallsDeps): Pick<Sessions, "pause" | "resume" | "destroy" | "wake"> {
  const { store, steps, capacity, site, pool, servers, observer, disk } = deps;

  async function perform(partnerId: string, id: string, call: Call): Promise<SessionView> {
    for (;;) {
      const session = await findOwnSession(store.db, partnerId, id);
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

  return {
    pause: (partnerId, id, options) => perform(partnerId, id, { trigger: "pause", ...options }),
    resume: (partnerId, id, { autoStartAgent, ...options }) =>
      perform(partnerId, id, { trigger: "resume", changes: { autoStartAgent }, ...options }),
    destroy: (partnerId, id, options) => perform(partnerId, id, { trigger: "destroy", ...options }),
    wake: createWakeOnce({ wake: (partnerId, id) => perform(partnerId, id, { trigger: "wake" }) }),
  };
}

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
