import type { EventType } from "@berth/contract";
import type { SessionState, Step, StopReason } from "../../store/sessions/session.ts";

// A step is a state in which a server holds a lease and works on the sandbox. The others last until something happens.
export const STEPS = [
  "warming",
  "creating",
  "discarding",
  "pausing",
  "thawing",
  "rebuilding",
  "hibernating",
  "resuming",
  "destroying",
] as const satisfies readonly Step[];
export type LastingState = Exclude<SessionState, Step>;

// `absent`: there is no row, or no longer one.
export type Place = SessionState | "absent";

export type Outcome =
  // Enters the step under a new lease. A session that is in this step already is taken over from its former owner.
  | { do: "enter"; step: Step; stopReason?: StopReason }
  // Moves to another state at once.
  | { do: "move"; to: LastingState; events?: readonly EventType[]; stopReason?: StopReason }
  // Writes facts but keeps state and generation, so that the result of a step under way does not become stale.
  | { do: "update"; events?: readonly EventType[] }
  // Ends the lease, so that reconciliation finishes the step.
  | { do: "release" }
  | { do: "delete" }
  // The sandbox has no owner: it goes, and no row changes.
  | { do: "destroy_sandbox" }
  // The sandbox may have had an owner: it is stopped and kept, and no session changes.
  | { do: "quarantine_sandbox" }
  // Answers to a partner's call.
  | { do: "refuse"; code: "session_already_paused" | "session_already_running" | "session_busy" | "session_not_found" }
  | { do: "answer_unchanged" }
  // Waits until the step is over, then looks again. `join`: the step does what the call asks for, so a server that finds it
  // abandoned finishes it for the call.
  | { do: "wait" }
  | { do: "join" }
  // The trigger means nothing here.
  | { do: "ignore" };
