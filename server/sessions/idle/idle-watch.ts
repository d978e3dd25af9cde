import { AppError, isAppError } from "@berth/contract";
import { SECOND, type Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
import { isStillIdle, lookAgainAtEnd, sessionsToLookAt, type RunningSession } from "../../store/sessions/idle.ts";
import type { Site } from "../../store/sessions/session.ts";
import { BACKGROUND, forEachConcurrently } from "../background/for-each-concurrently.ts";
import type { Steps } from "../steps/steps.ts";
import type { Activity } from "./activity.ts";
import type { AgentActivity } from "./agent-activity.ts";

// Pauses sessions that have not been used for as long as their idle timeout says. There is no timer per session: an index finds
// those that are due, so a restart forgets nothing.
export interface IdleWatch {
  tick(): Promise<void>;
}

export interface IdleWatchDeps {
  store: Store;
  steps: Steps;
  activity: Activity;
  agentActivity: AgentActivity;
  site: Site;
  clock: Clock;
  log: Log;
}

// Where several servers reach a sandbox, their clocks differ a little, and another one may be about to write what it noticed.
const SHARED_GRACE_MS = 5 * SECOND;

export function createIdleWatch({ store, steps, activity, agentActivity, site, clock, log }: IdleWatchDeps): IdleWatch {
  const graceMs = site.host === null ? SHARED_GRACE_MS : 0;

  async function tick(): Promise<void> {
    await activity.flush();
    const due = await sessionsToLookAt(store.db, site, clock.now() - graceMs);
    // A session that fails is due again at the next tick.
    await forEachConcurrently(due, BACKGROUND, (session) =>
      look(session).catch((error: unknown) => {
        if (!isAppError(error, "session_busy")) log.warn("idle.failed", { sessionId: session.id, error: String(error) });
      }),
    );
  }

  async function look(session: RunningSession): Promise<void> {
    const { idleTimeoutMs, idleAtMs } = session;
    if (idleTimeoutMs === null || idleAtMs === null) return;
    const used = { ...session, idleAt: idleAtMs };
    const isUsedSince = () => (activity.lastMs(session.id) ?? 0) + idleTimeoutMs > idleAtMs;
    // The row is written with the next flush, and then the session is not due any more.
    if (isUsedSince()) return;
    const agentAtMs = await agentActivity.lastMs(session.sandboxId);
    if (agentAtMs !== null) activity.noteAt(used, agentAtMs);
    if (isUsedSince()) return;
    if (idleAtMs > clock.now() - graceMs) return lookAgainAtEnd(store.laterDb, session);
    await steps.run(session, "idle", {
      async admit(tx) {
        if (isUsedSince() || !(await isStillIdle(tx, store.engine, session))) throw new AppError("session_busy");
      },
    });
  }

  return { tick };
}
