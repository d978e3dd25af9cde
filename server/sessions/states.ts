import type { SessionStatus } from "@berth/contract";

// The life of a session as plain data. A step (creating, pausing, …) is entered and left by one guarded UPDATE each;
// what the outside sees during a step is the state it came from.
//
//   warming -> warm -> creating -> running <-> paused -> destroyed       what nobody was told of is discarded:
//                                                                        its row goes when its sandbox has gone
export const SESSION_STATES = [
  "warming",
  "warm",
  "creating",
  "discarding",
  "running",
  "pausing",
  "paused",
  "hibernating",
  "resuming",
  "destroying",
  "destroyed",
] as const;
export type SessionState = (typeof SESSION_STATES)[number];

// Somebody with a lease is at work on each of these. `done` and `failed` are the states that a step can end in; "gone"
// means that the row is deleted. A step that fails into itself stays to be finished by reconcile.
export const STEPS = {
  warming: { from: [], done: "warm", failed: "discarding" },
  creating: { from: ["warm"], done: "running", failed: "discarding" },
  discarding: { from: ["warming", "warm", "creating"], done: "gone", failed: "discarding" },
  pausing: { from: ["running"], done: "paused", failed: "running" },
  hibernating: { from: ["paused"], done: "paused", failed: "paused" },
  resuming: { from: ["paused"], done: "running", failed: "paused" },
  destroying: { from: ["running", "pausing", "paused", "hibernating", "resuming"], done: "destroyed", failed: "destroying" },
} as const satisfies Record<string, { from: readonly SessionState[]; done: SessionState | "gone"; failed: SessionState }>;
export type Step = keyof typeof STEPS;

export const isStep = (state: SessionState): state is Step => state in STEPS;

// What each call of a partner meets in each state: the step that it begins, or the answer that it gets.
export type Trigger = "pause" | "resume" | "destroy";
export type Verdict =
  | { begin: Step }
  | { refuse: "session_already_paused" | "session_already_running" | "session_busy" | "session_not_found" }
  // Nothing to do: the answer is the session as it is.
  | { already: true }
  // Somebody else is about to finish; look again then.
  | { wait: true };

const unknown: Verdict = { refuse: "session_not_found" };
const busy: Verdict = { refuse: "session_busy" };
const wait: Verdict = { wait: true };
// The pool's rows and a session that is still being made are known to no partner.
const unseen = { warming: unknown, warm: unknown, creating: unknown, discarding: unknown } as const;

export const VERDICTS: Record<Trigger, Record<SessionState, Verdict>> = {
  pause: {
    ...unseen,
    running: { begin: "pausing" },
    pausing: busy,
    paused: { refuse: "session_already_paused" },
    hibernating: { refuse: "session_already_paused" },
    resuming: busy,
    destroying: busy,
    destroyed: unknown,
  },
  resume: {
    ...unseen,
    running: { refuse: "session_already_running" },
    pausing: busy,
    paused: { begin: "resuming" },
    hibernating: wait,
    resuming: busy,
    destroying: busy,
    destroyed: unknown,
  },
  destroy: {
    ...unseen,
    running: { begin: "destroying" },
    pausing: { begin: "destroying" },
    paused: { begin: "destroying" },
    hibernating: { begin: "destroying" },
    resuming: { begin: "destroying" },
    destroying: wait,
    destroyed: { already: true },
  },
};

// What a partner sees of a row; null when there is nothing to see. Only a session that is being destroyed needs a second
// look: it still shows what it was.
export function statusOf(row: { state: SessionState; paused_at: number | null }): SessionStatus | null {
  switch (row.state) {
    case "warming":
    case "warm":
    case "creating":
    case "discarding":
      return null;
    case "running":
    case "pausing":
      return "running";
    case "paused":
    case "hibernating":
    case "resuming":
      return "paused";
    case "destroying":
      return row.paused_at === null ? "running" : "paused";
    case "destroyed":
      return "destroyed";
  }
}
