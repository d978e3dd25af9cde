import type { Updateable } from "kysely";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { appendEvent } from "../store/events.ts";
import type { Store } from "../store/open.ts";
import type { SessionsTable } from "../store/schema.ts";
import * as due from "../store/sessions/due.ts";
import { updateSession, type Home, type SessionRow } from "../store/sessions/sessions.ts";
import type { Capacity } from "./capacity.ts";
import type { Changes } from "./create-sessions.ts";
import { BACKGROUND, forEachConcurrently } from "./for-each-concurrently.ts";
import type { Step } from "./states.ts";
import type { Steps } from "./steps.ts";
import { eventData } from "./view.ts";
import { WARNING_MS } from "./step-actions.ts";

// What time does to sessions. One tick for all of them: each rule asks an index for what is due, in batches; no timer
// per session, nothing to remember over a restart.
export interface Schedule {
  tick(): Promise<void>;
}

export interface ScheduleDeps {
  store: Store;
  steps: Steps;
  capacity: Capacity;
  home: Home;
  clock: Clock;
  log: Log;
  changes: Changes;
  rules: { timeoutAction: "pause" | "destroy"; hibernateAfterMs: number; pausedMs: number; tombstoneMs: number };
}

const BATCH = 100;

export function createSchedule({ store, steps, capacity, home, clock, log, changes, rules }: ScheduleDeps): Schedule {
  async function tick(): Promise<void> {
    const nowMs = clock.now();
    await each(await due.toWarn(store.db, home, nowMs, nowMs + WARNING_MS, BATCH), warn);
    await each(await due.timedOut(store.db, home, nowMs, BATCH), (row) =>
      take(row, rules.timeoutAction === "destroy" ? "destroying" : "pausing", { stop_reason: "timeout" }),
    );
    const sleepBeforeMs = capacity.isMemoryLow() ? nowMs : nowMs - rules.hibernateAfterMs;
    await each(await due.toHibernate(store.db, home, sleepBeforeMs, BATCH), (row) => take(row, "hibernating"));
    await each(await due.pausedTooLong(store.db, home, nowMs - rules.pausedMs, BATCH), (row) =>
      take(row, "destroying", { stop_reason: "retention" }),
    );
    await due.purgeTombstones(store.db, nowMs - rules.tombstoneMs, BATCH);
    await due.purgeIdempotency(store.db, nowMs, BATCH);
  }

  async function warn(row: SessionRow): Promise<void> {
    await store.transaction(async (tx) => {
      const warned = await updateSession(tx, row, { warned: 1 });
      if (!warned) return;
      const data = { ...eventData(warned), expiresAt: new Date(warned.expires_at!).toISOString() };
      await appendEvent(tx, {
        partnerId: warned.partner_id!,
        sessionId: warned.id,
        type: "session.timeout_warning",
        at: clock.now(),
        data,
      });
    });
    changes.tell(row);
  }

  async function take(row: SessionRow, step: Step, changed: Updateable<SessionsTable> = {}): Promise<void> {
    const begun = await steps.begin(row, step, changed);
    if (begun) await steps.perform(begun);
  }

  // One that fails is tried again at the next tick.
  const each = (rows: SessionRow[], work: (row: SessionRow) => Promise<void>) =>
    forEachConcurrently(rows, BACKGROUND, (row) =>
      work(row).catch((error: unknown) => log.warn("schedule.failed", { sessionId: row.id, error: String(error) })),
    );

  return { tick };
}
