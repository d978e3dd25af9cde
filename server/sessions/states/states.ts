import type { EventType } from "@berth/contract";
import type { SessionState, Step, StopReason } from "../../store/sessions/session.ts";
import type { LastingState, Outcome, Place } from "./outcome.ts";

// The transitions of a session as one table of plain data: every trigger, and its effect in every state. Nothing else moves a
// session. transitions.ts applies the table, steps.ts works through the steps, and `docs/images/states.svg` is drawn from it.

interface Rule {
  // The part of the system that pulls the trigger.
  source: "partner" | "operator" | "timer" | "use" | "setup" | "reconcile" | "pool" | "step";
  in: Partial<Record<Place, Outcome>>;
  // The outcome in every state that `in` does not name.
  otherwise: Outcome;
  // A statement of store/ applies it to rows that were not read before. bulk-triggers.test.ts compares the statement with the table.
  isBulk?: true;
}

function inEach<State extends SessionState>(states: readonly State[], outcome: Outcome): Record<State, Outcome> {
  return Object.fromEntries(states.map((state) => [state, outcome])) as Record<State, Outcome>;
}
const enter = (step: Step, stopReason?: StopReason): Outcome => ({ do: "enter", step, ...(stopReason && { stopReason }) });
const move = (to: LastingState, ...events: EventType[]): Outcome => ({ do: "move", to, events });
const update: Outcome = { do: "update" };
const ignore: Outcome = { do: "ignore" };
const wait: Outcome = { do: "wait" };
const busy: Outcome = { do: "refuse", code: "session_busy" };
// A partner knows neither the pool's sandboxes nor a session that is still being created.
const notFound: Outcome = { do: "refuse", code: "session_not_found" };
const alreadyPaused: Outcome = { do: "refuse", code: "session_already_paused" };
const alreadyRunning: Outcome = { do: "refuse", code: "session_already_running" };
// Sessions that a partner knows and has not destroyed yet.
const destroyKnown = inEach(
  ["running", "pausing", "thawing", "rebuilding", "paused", "hibernating", "resuming"],
  enter("destroying", "api"),
);
const discardUnknown = inEach(["warming", "warm", "creating", "discarding"], enter("discarding"));

export const RULES = {
  create: { source: "partner", otherwise: ignore, in: { absent: enter("creating") } },
  pause: {
    source: "partner",
    otherwise: notFound,
    in: {
      running: enter("pausing", "api"),
      pausing: busy,
      thawing: wait,
      rebuilding: wait,
      paused: alreadyPaused,
      hibernating: alreadyPaused,
      resuming: busy,
      destroying: busy,
    },
  },
  resume: {
    source: "partner",
    otherwise: notFound,
    in: {
      running: alreadyRunning,
      pausing: busy,
      thawing: alreadyRunning,
      rebuilding: alreadyRunning,
      paused: enter("resuming"),
      hibernating: wait,
      resuming: busy,
      destroying: busy,
    },
  },
  destroy: {
    source: "partner",
    otherwise: notFound,
    in: {
      ...destroyKnown,
      destroying: { do: "join" },
      destroyed: { do: "answer_unchanged" },
    },
  },
  // Changes the timeouts, the rules or the metadata.
  change: {
    source: "partner",
    otherwise: notFound,
    in: inEach(["running", "pausing", "thawing", "rebuilding", "paused", "hibernating", "resuming"], update),
  },

  // `berth session destroy`. A create under way is found by its id, which only the operator can know.
  operator_destroy: {
    source: "operator",
    otherwise: notFound,
    in: {
      creating: enter("destroying", "api"),
      ...destroyKnown,
      destroying: { do: "answer_unchanged" },
      destroyed: { do: "answer_unchanged" },
    },
  },
  // `berth session wake`, whether or not the session has `autoResume`.
  operator_wake: {
    source: "operator",
    otherwise: notFound,
    in: {
      running: { do: "answer_unchanged" },
      pausing: busy,
      thawing: { do: "answer_unchanged" },
      rebuilding: { do: "answer_unchanged" },
      paused: enter("resuming"),
      hibernating: busy,
      resuming: { do: "answer_unchanged" },
    },
  },
  // `berth session recover`: a sandbox in quarantine gets a session again.
  operator_recover: { source: "operator", otherwise: ignore, in: { absent: move("paused") } },
  // `berth partner delete`: the rows of the partner's sessions go, after all of them were destroyed.
  delete_partner: { source: "operator", isBulk: true, otherwise: ignore, in: { destroyed: { do: "delete" } } },
  // `berth down`: sessions end paused without memory. It pulls this trigger until nothing is left to do.
  stop_all: {
    source: "operator",
    otherwise: ignore,
    in: {
      ...discardUnknown,
      running: enter("pausing", "api"),
      pausing: enter("pausing"),
      thawing: enter("pausing", "api"),
      rebuilding: enter("pausing", "api"),
      paused: enter("hibernating"),
      hibernating: enter("hibernating"),
      // The sandbox may run already. As a paused one that holds memory, the session hibernates next.
      resuming: move("paused"),
      destroying: enter("destroying"),
    },
  },
  // `berth down --delete`.
  destroy_all: {
    source: "operator",
    otherwise: ignore,
    in: {
      ...discardUnknown,
      ...destroyKnown,
      destroying: enter("destroying"),
    },
  },

  warn: { source: "timer", otherwise: ignore, in: { running: { do: "update", events: ["session.timeout_warning"] } } },
  timeout: { source: "timer", otherwise: ignore, in: { running: enter("pausing", "timeout") } },
  // Used if the timeout destroys the session.
  timeout_destroy: { source: "timer", otherwise: ignore, in: { running: enter("destroying", "timeout") } },
  // Nothing has happened in the session for its idle timeout.
  idle: { source: "timer", otherwise: ignore, in: { running: enter("pausing", "idle") } },
  hibernate: { source: "timer", otherwise: ignore, in: { paused: enter("hibernating") } },
  retention: { source: "timer", otherwise: ignore, in: { paused: enter("destroying", "retention") } },
  purge: { source: "timer", isBulk: true, otherwise: ignore, in: { destroyed: { do: "delete" } } },

  // Someone who may open the session does so, and its partner allows that this resumes it.
  wake: {
    source: "use",
    otherwise: notFound,
    in: {
      running: { do: "answer_unchanged" },
      thawing: { do: "answer_unchanged" },
      rebuilding: wait,
      pausing: wait,
      paused: enter("resuming"),
      hibernating: wait,
      resuming: { do: "join" },
    },
  },
  // A person asks for more time.
  extend: { source: "use", otherwise: notFound, in: { running: update } },
  // The session is used.
  active: { source: "use", isBulk: true, otherwise: ignore, in: { running: update } },

  // The daemon's reports of the session's source and command, and a retry of a source that failed.
  source_ready: { source: "setup", otherwise: ignore, in: { running: { do: "update", events: ["session.source_ready"] } } },
  source_failed: { source: "setup", otherwise: ignore, in: { running: { do: "update", events: ["session.source_failed"] } } },
  setup_finished: { source: "setup", otherwise: ignore, in: { running: { do: "update", events: ["session.setup_finished"] } } },
  setup_skipped: { source: "setup", otherwise: ignore, in: { running: update } },
  // The repository names an image that the template allows, and it is there or could not be fetched.
  use_image: { source: "setup", otherwise: ignore, in: { running: enter("rebuilding") } },
  image_failed: { source: "setup", otherwise: ignore, in: { running: update } },
  retry_source: { source: "setup", otherwise: ignore, in: { running: update } },

  // The lease of a step has expired. No caller waits for an unfinished create, so it is undone; every other step is repeated.
  abandoned: {
    source: "reconcile",
    otherwise: ignore,
    in: {
      warming: enter("discarding"),
      creating: enter("discarding"),
      discarding: enter("discarding"),
      pausing: enter("pausing"),
      thawing: enter("thawing"),
      rebuilding: enter("rebuilding"),
      hibernating: enter("hibernating"),
      resuming: enter("resuming"),
      destroying: enter("destroying"),
    },
  },
  // The sandbox stopped by itself: the machine restarted, or it ran out of memory. Its files are kept, so a session is paused.
  lost: {
    source: "reconcile",
    otherwise: ignore,
    in: {
      warm: enter("discarding"),
      running: { do: "move", to: "paused", events: ["session.failed", "session.paused"], stopReason: "sandbox_lost" },
    },
  },
  // The session was paused because its sandbox counted as lost, and the sandbox runs after all.
  returned: { source: "reconcile", otherwise: ignore, in: { paused: enter("resuming") } },
  // The sandbox of a paused session no longer holds memory.
  stopped: { source: "reconcile", otherwise: ignore, in: { paused: update } },
  // The sandbox of a paused session runs.
  awake: { source: "reconcile", otherwise: ignore, in: { paused: enter("hibernating") } },
  // The sandbox of a running session is frozen.
  frozen: { source: "reconcile", otherwise: ignore, in: { warm: enter("discarding"), running: enter("thawing") } },
  // The machine's disk is about to be full, and has space again. What a sandbox writes in between could be lost.
  disk_full: { source: "reconcile", otherwise: ignore, in: { running: enter("pausing", "disk_full") } },
  disk_freed: { source: "reconcile", otherwise: ignore, in: { paused: enter("resuming") } },
  // The disk of the sandbox has turned read-only after an error. A resume mounts it again.
  disk_failed: { source: "reconcile", otherwise: ignore, in: { warm: enter("discarding"), running: enter("pausing", "disk_failed") } },
  // The engine has a sandbox with files and the store has no row: the store has lost it, or it is another store.
  unknown: { source: "reconcile", otherwise: ignore, in: { absent: { do: "quarantine_sandbox" } } },
  // The engine has a sandbox whose session is destroyed, or remains of one without files.
  orphan: {
    source: "reconcile",
    otherwise: ignore,
    in: { absent: { do: "destroy_sandbox" }, destroyed: { do: "destroy_sandbox" } },
  },

  fill: { source: "pool", otherwise: ignore, in: { absent: enter("warming") } },
  // A create takes a warm sandbox.
  claim: { source: "pool", otherwise: ignore, in: { warm: enter("creating") } },
  // A create that waited for a new sandbox took a warm one, so the new one is not needed.
  swap: { source: "pool", otherwise: ignore, in: { creating: enter("discarding") } },
  // The sandbox no longer fits its template, or a session needs its memory.
  evict: { source: "pool", otherwise: ignore, in: { warming: enter("discarding"), warm: enter("discarding") } },

  done: {
    source: "step",
    otherwise: ignore,
    in: {
      warming: move("warm"),
      creating: move("running", "session.created"),
      discarding: { do: "delete" },
      pausing: move("paused", "session.paused"),
      thawing: move("running"),
      rebuilding: move("running"),
      hibernating: move("paused"),
      resuming: move("running", "session.resumed"),
      destroying: move("destroyed", "session.destroyed"),
    },
  },
  failed: {
    source: "step",
    otherwise: ignore,
    in: {
      warming: enter("discarding"),
      creating: enter("discarding"),
      discarding: { do: "release" },
      pausing: move("running"),
      thawing: move("running"),
      rebuilding: move("running"),
      hibernating: move("paused"),
      resuming: move("paused"),
      destroying: { do: "release" },
    },
  },
} as const satisfies Record<string, Rule>;

export type Trigger = keyof typeof RULES;
export type BulkTrigger = { [Name in Trigger]: (typeof RULES)[Name] extends { isBulk: true } ? Name : never }[Trigger];

export function outcomeOf(trigger: Trigger, place: Place): Outcome {
  const rule: Rule = RULES[trigger];
  return rule.in[place] ?? rule.otherwise;
}

// The step that a trigger enters from a place where it can only enter one.
export function stepOf(trigger: Trigger, place: Place): Step {
  const outcome = outcomeOf(trigger, place);
  if (outcome.do !== "enter") throw new Error(`${trigger} enters no step from ${place}`);
  return outcome.step;
}
