import { expect, test } from "vitest";
import { SESSION_STATES, STEPS, VERDICTS, isStep, statusOf, type SessionState, type Step, type Trigger } from "./states.ts";

const TRIGGERS: Trigger[] = ["pause", "resume", "destroy"];

// SPEC.md and CONTRACT.md, pair by pair. A new state or trigger fails here until somebody has decided what it means.
const EXPECTED: Record<Trigger, Record<SessionState, string>> = {
  pause: {
    warming: "session_not_found",
    warm: "session_not_found",
    creating: "session_not_found",
    discarding: "session_not_found",
    running: "pausing",
    pausing: "session_busy",
    paused: "session_already_paused",
    hibernating: "session_already_paused",
    resuming: "session_busy",
    destroying: "session_busy",
    destroyed: "session_not_found",
  },
  resume: {
    warming: "session_not_found",
    warm: "session_not_found",
    creating: "session_not_found",
    discarding: "session_not_found",
    running: "session_already_running",
    pausing: "session_busy",
    paused: "resuming",
    hibernating: "wait",
    resuming: "session_busy",
    destroying: "session_busy",
    destroyed: "session_not_found",
  },
  destroy: {
    warming: "session_not_found",
    warm: "session_not_found",
    creating: "session_not_found",
    discarding: "session_not_found",
    running: "destroying",
    pausing: "destroying",
    paused: "destroying",
    hibernating: "destroying",
    resuming: "destroying",
    destroying: "wait",
    destroyed: "already",
  },
};

for (const trigger of TRIGGERS)
  for (const state of SESSION_STATES)
    test(`${trigger} in the state ${state}: ${EXPECTED[trigger][state]}`, () => {
      const verdict = VERDICTS[trigger][state];
      const word = "begin" in verdict ? verdict.begin : "refuse" in verdict ? verdict.refuse : "already" in verdict ? "already" : "wait";
      expect(word).toBe(EXPECTED[trigger][state]);
      if ("begin" in verdict) expect(STEPS[verdict.begin].from).toContain(state);
    });

test("every step leads from and to states that exist, and to something that is not a step, or stays to be finished", () => {
  for (const [name, step] of Object.entries(STEPS)) {
    for (const from of step.from) expect(SESSION_STATES).toContain(from);
    if (step.done !== "gone") expect(isStep(step.done)).toBe(false);
    expect(step.failed === name || !isStep(step.failed) || step.failed === "discarding").toBe(true);
  }
});

test("a step shows the state it came from", () => {
  const shown = (state: SessionState, pausedAt: number | null = null) => statusOf({ state, paused_at: pausedAt });
  expect(shown("pausing")).toBe("running");
  expect(shown("resuming", 1)).toBe("paused");
  expect(shown("hibernating", 1)).toBe("paused");
  expect(shown("destroying")).toBe("running");
  expect(shown("destroying", 1)).toBe("paused");
  expect(shown("destroyed", 1)).toBe("destroyed");
  for (const state of ["warming", "warm", "creating", "discarding"] as const) expect(shown(state)).toBeNull();
});

test("whatever the outside can see can be destroyed", () => {
  const visible = SESSION_STATES.filter(
    (state) => statusOf({ state, paused_at: null }) !== null && state !== "destroyed" && state !== "destroying",
  );
  for (const state of visible) expect(VERDICTS.destroy[state]).toEqual({ begin: "destroying" satisfies Step });
});
