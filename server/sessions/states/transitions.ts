import type { EventType } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import { failpoint } from "../../faults/failpoints.ts";
import { appendEvent } from "../../store/events.ts";
import type { Store, Sync } from "../../store/open.ts";
import type { Db } from "../../store/schema.ts";
import {
  isPartnerSession,
  type Lease,
  type PartnerSession,
  type Session,
  type SessionInStep,
  type Step,
} from "../../store/sessions/session.ts";
import { viewOf, type SessionView } from "../../store/sessions/listing/view.ts";
import type { SessionChanges } from "../../store/sessions/columns.ts";
import { deleteSession, moveSession, releaseLease, updateSession } from "../../store/sessions/write.ts";
import { addTime, timeChange } from "../../store/usage/time.ts";
import { endRunsOf, type RunsEnd } from "./run-ends.ts";
import { commonEventData } from "./event-data.ts";
import { outcomeOf, type Trigger } from "./states.ts";

// Moves sessions as the table in states.ts says. Each transition is one transaction: row, generation, events and what the
// caller records with them.
export interface Transitions {
  // A lease for a step that begins now.
  lease(): Lease;
  isOwn(lease: Lease): boolean;
  // null: the session has changed since it was read, so nothing happened. Throws if the table has no change for this state.
  apply(session: Session, trigger: Trigger, options?: TransitionOptions): Promise<Session | "deleted" | null>;
  // The same in the caller's transaction. The caller announces the change after the commit.
  applyIn(tx: Db, session: Session, trigger: Trigger, options?: TransitionOptions): Promise<Session | "deleted" | null>;
  announce(session: Session): void;
  // Renews the lease of a step until it is disposed, the session has left the step, or the signal says that the step takes too long.
  holdLease(session: SessionInStep, timeout: AbortSignal): AsyncDisposable;
}

export interface TransitionOptions {
  changes?: SessionChanges;
  // Runs first in the transaction. If it throws, nothing happens.
  admit?: ((tx: Db) => Promise<void>) | undefined;
  // Runs last in the transaction, with the session as the partner sees it. If it throws, nothing happens.
  record?: Recorder | undefined;
}

// Writes the records of a session's change: the idempotency result, the audit entry.
export type Recorder = (tx: Db, session: SessionView) => Promise<void>;

export interface TransitionsDeps {
  store: Store;
  owner: string;
  leaseMs: number;
  clock: Clock;
  onChange(session: Session): void;
}

export function createTransitions({ store, owner, leaseMs, clock, onChange }: TransitionsDeps): Transitions {
  const lease = (): Lease => ({ owner, untilMs: clock.now() + leaseMs });

  const applyIn: Transitions["applyIn"] = async (tx, session, trigger, { changes = {}, admit, record } = {}) => {
    await admit?.(tx);
    const applied = await applyTransition(tx, session, trigger, { changes, lease: lease(), nowMs: clock.now() });
    const view = record && applied && applied !== "deleted" ? viewOf(applied) : null;
    if (record && view) await record(tx, view);
    return applied;
  };

  async function apply(session: Session, trigger: Trigger, options: TransitionOptions = {}): Promise<Session | "deleted" | null> {
    const { admit, record } = options;
    const write = (tx: Db) => applyIn(tx, session, trigger, options);
    // A single statement is a transaction by itself.
    const isSingle = !admit && !record && eventsOf(session, trigger).length === 0 && !endsTime(session, trigger, options);
    const sync = syncOf(session, trigger);
    const applied = isSingle ? await write(sync === "now" ? store.db : store.laterDb) : await store.transaction(write, { sync });
    if (applied && applied !== "deleted") onChange(applied);
    return applied;
  }

  const holdLease: Transitions["holdLease"] = (session, timeout) =>
    // A failure is not repeated at once: the lease lasts for two more tries.
    clock.every(leaseMs / 3, async () => {
      if (!timeout.aborted) await updateSession(store.laterDb, session, { lease: lease() }).catch(() => {});
    });

  return { lease, isOwn: (held) => held.owner === owner, apply, applyIn, announce: onChange, holdLease };
}

// A power cut that loses the beginning of such a step also ends the sandbox on this machine, and its files are kept. The session is
// then what it would be after a power cut just before the step.
const KEEPS_FILES: ReadonlySet<string> = new Set<Step>(["pausing", "resuming", "thawing", "rebuilding", "hibernating"]);

function syncOf({ site, state }: Session, trigger: Trigger): Sync {
  const outcome = outcomeOf(trigger, state);
  return site.host !== null && outcome.do === "enter" && KEEPS_FILES.has(outcome.step) ? "later" : "now";
}

// Whether the transition adds time to the usage.
const endsTime = (session: Session, trigger: Trigger, { changes = {} }: TransitionOptions): boolean =>
  timeChangeOf(session, trigger, changes, 0)?.ended != null;

// Entering a step does not change the kind of time that is counted.
function timeChangeOf(session: Session, trigger: Trigger, changes: SessionChanges, nowMs: number) {
  const outcome = outcomeOf(trigger, session.state);
  if (outcome.do !== "move" && outcome.do !== "update") return null;
  return timeChange(session, { ...changes, state: outcome.do === "move" ? outcome.to : session.state }, nowMs);
}

export interface Applying {
  changes?: SessionChanges;
  // The lease of a step that is entered.
  lease: Lease;
  nowMs: number;
}

// One transition inside the caller's transaction.
export async function applyTransition(
  tx: Db,
  session: Session,
  trigger: Trigger,
  { changes, lease, nowMs }: Applying,
): Promise<Session | "deleted" | null> {
  const time = timeChangeOf(session, trigger, changes ?? {}, nowMs);
  const counted = time && { countedFromMs: time.countedFromMs };
  const applied = await write(tx, session, trigger, { changes: { ...changes, ...counted }, lease, nowMs });
  if (applied === null || applied === "deleted") return applied;
  if (time?.ended && isPartnerSession(session)) {
    failpoint("usage.counting");
    await addTime(tx, session, time.ended);
  }
  const runsEnd = runsEndOf(applied, trigger);
  if (runsEnd && isPartnerSession(applied)) await endRunsOf(tx, applied, runsEnd, nowMs);
  for (const type of eventsOf(session, trigger)) {
    if (!isPartnerSession(applied)) throw new Error(`${trigger} appends ${type}, but ${applied.id} belongs to no partner`);
    await appendEvent(tx, {
      partnerId: applied.partnerId,
      sessionId: applied.id,
      type,
      at: nowMs,
      data: eventData(applied, type),
    });
  }
  return applied;
}

async function write(tx: Db, session: Session, trigger: Trigger, { changes, lease, nowMs }: Applying): Promise<Session | "deleted" | null> {
  const outcome = outcomeOf(trigger, session.state);
  switch (outcome.do) {
    case "enter":
      return moveSession(tx, session, outcome.step, { ...reasonOf(outcome), ...changes, lease, updatedAtMs: nowMs });
    case "move":
      return moveSession(tx, session, outcome.to, { ...reasonOf(outcome), ...changes, lease: null, updatedAtMs: nowMs });
    case "update":
      return updateSession(tx, session, changes ?? {});
    case "release":
      return (await releaseLease(tx, session)) ? session : null;
    case "delete":
      return (await deleteSession(tx, session)) ? "deleted" : null;
    default:
      throw new Error(`${trigger} changes nothing in the state ${session.state}`);
  }
}

const reasonOf = ({ stopReason }: { stopReason?: SessionChanges["stopReason"] }) => (stopReason ? { stopReason } : {});

function eventsOf(session: Session, trigger: Trigger): readonly EventType[] {
  const outcome = outcomeOf(trigger, session.state);
  return "events" in outcome ? (outcome.events ?? []) : [];
}

// Why runs of the session that are not over cannot go on. null: they can.
function runsEndOf({ state }: Session, trigger: Trigger): RunsEnd | null {
  if (state === "destroyed") return "destroyed";
  return trigger === "lost" || trigger === "source_failed" ? trigger : null;
}

function setupData({ setup }: PartnerSession, type: EventType): object {
  if (type === "session.setup_finished") return { exitCode: setup?.exitCode ?? null };
  if (type !== "session.source_ready" && type !== "session.source_failed") return {};
  return { source: setup?.source ?? null };
}

const eventData = (session: PartnerSession, type: EventType) => ({
  ...commonEventData(session),
  ...(type === "session.timeout_warning" && session.state === "running" ? { expiresAt: new Date(session.expiresAtMs).toISOString() } : {}),
  ...setupData(session, type),
});
