import type { SessionStatus } from "@berth/contract";

// The life of a session as plain data. A step (creating, pausing, …) is entered and left by one guarded UPDATE each;
// what the outside sees during a step is the state it came from.

export const SESSION_STATES = [
  "warming",
  "warm",
  "creating",
  "running",
  "pausing",
  "paused",
  "resuming",
  "destroying",
  "destroyed",
] as const;
export type SessionState = (typeof SESSION_STATES)[number];

// Steps have a lease: somebody is at work on them.
export const STEPS = {
  warming: { from: [], done: "warm", undone: "destroying" },
  creating: { from: ["warm"], done: "running", undone: "destroying" },
  pausing: { from: ["running"], done: "paused", undone: "running" },
  resuming: { from: ["paused"], done: "running", undone: "paused" },
  destroying: {
    from: ["warming", "warm", "creating", "running", "pausing", "paused", "resuming"],
    done: "destroyed",
    undone: "destroying",
  },
} as const satisfies Record<string, { from: readonly SessionState[]; done: SessionState; undone: SessionState }>;
export type Step = keyof typeof STEPS;

export const isStep = (state: SessionState): state is Step => state in STEPS;

// What each call of a partner meets in each state: the step it begins, or the answer it gets. Pool states are never
// seen by a partner, and a session that is still being created is not known yet.
type Verdict =
  | { begin: Step }
  | { refuse: "session_already_paused" | "session_already_running" | "session_busy" | "session_not_found" }
  | { already: "destroyed" }
  | { wait: true };
export type Trigger = "pause" | "resume" | "destroy";

const busy = { refuse: "session_busy" } as const;
const unknown = { refuse: "session_not_found" } as const;

export const VERDICTS: Record<Trigger, Record<SessionState, Verdict>> = {
  pause: {
    warming: unknown,
    warm: unknown,
    creating: unknown,
    running: { begin: "pausing" },
    pausing: busy,
    paused: { refuse: "session_already_paused" },
    resuming: busy,
    destroying: busy,
    destroyed: unknown,
  },
  resume: {
    warming: unknown,
    warm: unknown,
    creating: unknown,
    running: { refuse: "session_already_running" },
    pausing: busy,
    paused: { begin: "resuming" },
    resuming: busy,
    destroying: busy,
    destroyed: unknown,
  },
  destroy: {
    warming: unknown,
    warm: unknown,
    creating: unknown,
    running: { begin: "destroying" },
    pausing: { begin: "destroying" },
    paused: { begin: "destroying" },
    resuming: { begin: "destroying" },
    destroying: { wait: true },
    destroyed: { already: "destroyed" },
  },
};

// What a partner sees. null: nothing (not created yet, or the pool's).
export const VISIBLE: Record<SessionState, SessionStatus | null> = {
  warming: null,
  warm: null,
  creating: null,
  running: "running",
  pausing: "running",
  paused: "paused",
  resuming: "paused",
  destroying: "running", // or paused: `statusOf` looks at where it came from
  destroyed: "destroyed",
};
