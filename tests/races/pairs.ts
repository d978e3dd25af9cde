import { CALLS } from "./calls.ts";
import type { Pair } from "./rounds.ts";
import type { StartState } from "./subject.ts";

const NAMES = Object.keys(CALLS);

// Each call held at each of its points, while each other call is made.
export const heldPairs = (states: readonly StartState[]): Pair[] =>
  states.flatMap((from) =>
    NAMES.flatMap((first) =>
      CALLS[first]!.holds.filter(({ point }) => reaches(first, point, from)).flatMap((meet) =>
        NAMES.map((second) => ({ first, second, from, meet })),
      ),
    ),
  );

// Whether a call comes to the point from a state. Only a resume, and calls that wake, change a paused session.
function reaches(first: string, point: string, { status, autoResume }: StartState): boolean {
  const isRunning = status === "running";
  if (point.startsWith("pausing")) return isRunning;
  if (point.startsWith("resuming")) return !isRunning && (first === "resume" || autoResume);
  return point !== "request.begun" || isRunning || (autoResume && first !== "socket");
}

// Starts each call some milliseconds after each other one.
export const timedPairs = (states: readonly StartState[], offsetsMs: readonly number[]): Pair[] =>
  states.flatMap((from) => NAMES.flatMap((first) => NAMES.flatMap((second) => offsetsMs.map((meet) => ({ first, second, from, meet })))));

export const statesOf = (...statuses: StartState["status"][]): StartState[] =>
  statuses.flatMap((status) => [false, true].map((autoResume) => ({ status, autoResume })));
