import { DAY, MINUTE, type Clock } from "../../clock.ts";
import type { MachineDisk } from "../../disk-space.ts";
import type { Log } from "../../log.ts";
import { purgeIdempotency } from "../../store/idempotency.ts";
import type { Store } from "../../store/open.ts";
import { purgeUserSettings } from "../../store/partners/user-settings.ts";
import { purgeRuns } from "../../store/runs/write.ts";
import * as due from "../../store/sessions/due.ts";
import { purgeSessions } from "../../store/sessions/purge.ts";
import type { Site, Session } from "../../store/sessions/session.ts";
import type { RetentionHold } from "./hold-retention.ts";
import type { Capacity } from "../pool/capacity.ts";
import { BACKGROUND, forEachConcurrently } from "./for-each-concurrently.ts";
import { WARNING_MS } from "../steps/step-actions.ts";
import type { Steps } from "../steps/steps.ts";
import type { Transitions } from "../states/transitions.ts";

// The timers of all sessions in one tick. Each rule asks an index for sessions that are due, in batches. There is no timer per session,
// so a restart forgets nothing.
export interface Schedule {
  tick(): Promise<void>;
}

export interface ScheduleDeps {
  store: Store;
  transitions: Transitions;
  steps: Steps;
  capacity: Capacity;
  disk: Pick<MachineDisk, "level">;
  site: Site;
  clock: Clock;
  log: Log;
  retention: Pick<RetentionHold, "isHeld">;
  rules: { hibernateAfterMs: number; pausedMs: number; tombstoneMs: number };
}

const BATCH = 100;
const PURGE_INTERVAL_MS = MINUTE;
// How long the settings of a user without sessions are kept after their last use.
const UNUSED_SETTINGS_MS = 90 * DAY;

export function createSchedule({ store, transitions, steps, capacity, disk, site, clock, log, retention, rules }: ScheduleDeps): Schedule {
  let nextPurgeMs = 0;

  async function tick(): Promise<void> {
    const { db } = store;
    const nowMs = clock.now();
    await each(await due.sessionsToWarn(db, site, { nowMs, untilMs: nowMs + WARNING_MS }), warn);
    await each(await due.sessionsTimedOut(db, site, nowMs), (session) =>
      steps.run(session, session.onTimeout === "destroy" ? "timeout_destroy" : "timeout"),
    );
    const hibernateBeforeMs = capacity.isMemoryLow() ? nowMs : nowMs - rules.hibernateAfterMs;
    // The sandbox would run and write for a moment.
    if (disk.level() !== "full")
      await each(await due.sessionsToHibernate(db, site, hibernateBeforeMs), (session) => steps.run(session, "hibernate"));
    if (!retention.isHeld())
      await each(await due.sessionsPausedTooLong(db, site, nowMs - rules.pausedMs), (session) => steps.run(session, "retention"));
    if (nowMs >= nextPurgeMs) nextPurgeMs = (await purge(nowMs)) ? nowMs : nowMs + PURGE_INTERVAL_MS;
  }

  // Deletes rows that are no longer needed. Returns whether there may be more of them.
  async function purge(nowMs: number): Promise<boolean> {
    const { db } = store;
    const deleted = [
      await purgeSessions(db, { destroyedBeforeMs: nowMs - rules.tombstoneMs }, BATCH),
      await purgeRuns(db, nowMs - rules.tombstoneMs, BATCH),
      await purgeIdempotency(db, nowMs, BATCH),
      await purgeUserSettings(db, nowMs - UNUSED_SETTINGS_MS, BATCH),
    ];
    return deleted.includes(BATCH);
  }

  async function warn(session: Session): Promise<void> {
    await transitions.apply(session, "warn", { changes: { isWarned: true } });
  }

  // A session that fails is due again at the next tick.
  const each = <T extends Session>(sessions: T[], work: (session: T) => Promise<void>) =>
    forEachConcurrently(sessions, BACKGROUND, (session) =>
      work(session).catch((error: unknown) => log.warn("schedule.failed", { sessionId: session.id, error: String(error) })),
    );

  return { tick };
}
