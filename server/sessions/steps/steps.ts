import { setTimeout as delay } from "node:timers/promises";
import { AppError, isAppError } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import { describeError } from "../../faults/describe-error.ts";
import { failpoint } from "../../faults/failpoints.ts";
import { holdPoint } from "../../faults/hold-points.ts";
import type { Log } from "../../log.ts";
import type { Db } from "../../store/schema.ts";
import { isInStep, type Session, type SessionInStep, type Step } from "../../store/sessions/session.ts";
import { outcomeOfError, secondsSince, type SessionObserver } from "../session-observer.ts";
import { outcomeOf, type Trigger } from "../states/states.ts";
import { inSpan, type Span } from "../../tracing/span.ts";
import { traceFields } from "../../tracing/trace-context.ts";
import type { StepAction, StepActions } from "./step-actions.ts";
import type { Recorder, TransitionOptions, Transitions } from "../states/transitions.ts";

// Works through the steps between states. Entering one is a transition that takes a lease, leaving it is another. In between
// the engine works, at most for as long as a step may take. A result that was overtaken by another step changes nothing.
export interface Steps {
  // Enters the step that `trigger` means for this session. null: the session has changed since it was read. `record` runs
  // when the step is done.
  begin(session: Session, trigger: Trigger, options?: BeginOptions): Promise<BegunStep | null>;
  // Does the step's work and leaves it. First stops the work of this server on the session under an older generation.
  // Resolves to the session as it is then, or to null if its row is gone.
  perform(step: BegunStep): Promise<Session | null>;
  // Leaves the step in the transaction that has entered it, if there is nothing to do in between; otherwise null. The caller
  // calls `left` after the commit.
  leaveIn(tx: Db, step: BegunStep): Promise<Session | null>;
  left(step: BegunStep, session: Session): void;
  // Both. Does nothing if the session has changed since it was read.
  run(session: Session, trigger: Trigger, options?: TransitionOptions): Promise<void>;
  // Whether no server works on the step any more: its lease has expired, or it is this server's and its end could not be written.
  isAbandoned(session: SessionInStep): boolean;
  // Waits until no step runs here.
  idle(): Promise<void>;
  // The steps that run here, for people.
  describeRunning(): string[];
}

// A step under the lease of this server, and what to record in the transaction that ends it.
export interface BegunStep {
  session: SessionInStep;
  record?: Recorder | undefined;
  // The span of the request that waits for it.
  span?: Span | undefined;
}

export type BeginOptions = TransitionOptions & Pick<BegunStep, "span">;

export interface StepsDeps {
  transitions: Transitions;
  actions: StepActions;
  stepTimeoutMs: number;
  clock: Pick<Clock, "now">;
  log: Log;
  observer: Pick<SessionObserver, "stepped">;
}

// A server renews the lease of a step while it works on it, so that another one takes the step over soon after this one has died, however
// long the step may take.
export const LEASE_MS = 30_000;

export function createSteps({ transitions, actions, stepTimeoutMs, clock, log, observer }: StepsDeps): Steps {
  const running = new Map<string, RunningStep>();
  // Sessions whose step is being entered: its row may say so before we know.
  const beginning = new Set<Session>();
  // Sessions whose step was performed here, and whose end could not be written.
  const unended = new Set<string>();

  const begin: Steps["begin"] = async (session, trigger, { record, span, ...options } = {}) => {
    beginning.add(session);
    // The step does not begin before the caller performs it.
    const begun = await transitions.apply(session, trigger, options).finally(() => setImmediate(() => beginning.delete(session)));
    const outcome = outcomeOf(trigger, session.state);
    if (outcome.do === "enter") failpoint(`${outcome.step}.begun`);
    return begun && begun !== "deleted" && isInStep(begun) ? { session: begun, record, span } : null;
  };

  function perform(step: BegunStep): Promise<Session | null> {
    const { id } = step.session;
    unended.delete(id);
    const previous = running.get(id);
    const stop = new AbortController();
    const settled: Promise<Session | null> = (previous ? interrupt(previous) : Promise.resolve()).then(() => work(step, entry));
    const entry: RunningStep = { stop, settled: settled.catch(() => {}), step: step.session.state, timeout: null };
    running.set(id, entry);
    return settled.finally(() => {
      if (running.get(id) === entry) running.delete(id);
    });
  }

  async function work({ session, record, span }: BegunStep, entry: RunningStep): Promise<Session | null> {
    const stop = entry.stop.signal;
    const { id: sessionId, sandboxId, state: step } = session;
    // TypeScript cannot see that the action of a session's state takes that session.
    const action = actions[step] as StepAction<SessionInStep>;
    const startedMs = performance.now();
    const trace = traceFields(span);
    try {
      const extraMs = (await action.extraMs?.(session)) ?? 0;
      entry.timeout = AbortSignal.timeout(stepTimeoutMs + extraMs);
      const signal = AbortSignal.any([stop, entry.timeout]);
      await using _lease = transitions.holdLease(session, entry.timeout);
      await holdPoint(sessionId, `${step}.begun`);
      await inSpan(span, `session ${step}`, (own) => action.act(session, signal, own));
      failpoint(`${step}.acted`);
      await holdPoint(sessionId, `${step}.acted`);
      const done = await transitions.apply(session, "done", { changes: action.done?.(session) ?? {}, record });
      if (!done) throw overtaken();
      if (done !== "deleted") failpoint(`${step}.left`);
      observer.stepped({ step, outcome: "ok", seconds: secondsSince(startedMs) });
      log.info(`session.${step}.done`, { sessionId, sandboxId, tookMs: Math.round(performance.now() - startedMs), ...trace });
      return done === "deleted" ? null : done;
    } catch (error) {
      const reason = explain(error, stop);
      observer.stepped({ step, outcome: outcomeOfError(reason), seconds: secondsSince(startedMs) });
      if (!isAppError(reason, "session_busy"))
        log.error(`session.${step}.failed`, { sessionId, sandboxId, error: describeError(error), ...trace });
      if (mayBeDone(session, error)) throw reason;
      await undo(session, reason, entry).catch((second: unknown) => {
        unended.add(sessionId);
        log.error("session.undo_failed", { sessionId, error: describeError(second) });
      });
      throw reason;
    }
  }

  const leaveIn: Steps["leaveIn"] = async (tx, { session, record }) => {
    const action = actions[session.state] as StepAction<SessionInStep>;
    if (!action.isPrepared?.(session)) return null;
    const done = await transitions.applyIn(tx, session, "done", { changes: action.done?.(session) ?? {}, record });
    if (!done || done === "deleted") throw overtaken();
    return done;
  };

  const left: Steps["left"] = ({ session: { state: step, id: sessionId, sandboxId }, span }, session) => {
    failpoint(`${step}.left`);
    transitions.announce(session);
    log.info(`session.${step}.done`, { sessionId, sandboxId, tookMs: 0, ...traceFields(span) });
  };

  // A create that failed is discarded right away, in the background if there was no room. If that fails too, reconciliation finds the row.
  async function undo(session: SessionInStep, reason: AppError, entry: RunningStep): Promise<void> {
    const action = actions[session.state] as StepAction<SessionInStep>;
    const undone = await begin(session, "failed", { changes: action.failed?.(session, reason) ?? {} });
    if (!undone || undone.session.generation === session.generation) return;
    // The caller can try elsewhere, and the rest of a sandbox without room blocks nothing.
    if (isAppError(reason, "capacity_reached") && session.state === "creating") void perform(undone).catch(() => {});
    else await work(undone, { ...entry, stop: new AbortController() }).catch(() => {});
  }

  async function run(session: Session, trigger: Trigger, options?: TransitionOptions): Promise<void> {
    const step = await begin(session, trigger, options);
    if (step) await perform(step);
  }

  function isAbandoned({ id, state, lease }: SessionInStep): boolean {
    const isOwn = transitions.isOwn(lease);
    const isWorkedOn = running.has(id) || [...beginning].some((session) => session.id === id);
    // The lease may have expired because this machine has slept, or because the store could not be written.
    if (isOwn && isWorkedOn && !running.get(id)?.timeout?.aborted) return false;
    return lease.untilMs < clock.now() || (isOwn && !isWorkedOn && (unended.has(id) || !UNSEEN.has(state)));
  }

  async function idle(): Promise<void> {
    while (running.size > 0) await Promise.all([...running.values()].map((entry) => entry.settled));
  }

  const describeRunning = () => [...running].map(([id, { step }]) => `${step} ${id}`);

  return { begin, perform, leaveIn, left, run, isAbandoned, idle, describeRunning };
}

// Steps that are also entered without `begin`, so that it is not known here whether one is about to be performed for the first time.
const UNSEEN: ReadonlySet<Step> = new Set(["warming", "creating", "discarding"]);

// If only the store has failed, the sandbox may be where it should be, and the session must not return to its state from before. The step
// is then repeated as an abandoned one.
const mayBeDone = ({ state }: SessionInStep, error: unknown): boolean =>
  isAppError(error, "store_unavailable") && outcomeOf("failed", state).do === "move";

interface RunningStep {
  step: string;
  stop: AbortController;
  settled: Promise<unknown>;
  // Aborts when the step has taken too long. null before its work begins.
  timeout: AbortSignal | null;
}

const INTERRUPT_TIMEOUT_MS = 15_000;

// An engine that does not stop when asked must not keep the next step from running: every engine call is idempotent.
async function interrupt({ stop, settled }: RunningStep): Promise<void> {
  stop.abort(overtaken());
  const waiting = new AbortController();
  await Promise.race([settled, delay(INTERRUPT_TIMEOUT_MS, undefined, { signal: waiting.signal }).catch(() => {})]);
  waiting.abort();
}

const overtaken = () => new AppError("session_busy", { message: "Another step took over this session" });

// Converts a failure for the caller: AppErrors are unchanged, a timeout becomes 504, everything else hides its internals.
function explain(error: unknown, stop: AbortSignal): AppError {
  if (stop.aborted && isAppError(stop.reason)) return stop.reason;
  if (isAppError(error)) return error;
  if (error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError"))
    return new AppError("sandbox_timeout", { cause: error });
  return new AppError("sandbox_failed", { cause: error });
}
