import { describe, expect, test } from "vitest";
import { SESSION_STATES, statusOf, type SessionState } from "../store/sessions/session.ts";
import { outcomeOf, RULES, STEPS, type Outcome, type Place, type Trigger } from "./states.ts";

// Independent rules about the table. They come from SPEC.md, CONTRACT.md and the design, and say nothing about single cells.
// Every pair of state and trigger is checked against each of them.

const PLACES: readonly Place[] = ["absent", ...SESSION_STATES];
const TRIGGERS = Object.keys(RULES) as Trigger[];
const PAIRS = TRIGGERS.flatMap((trigger) => PLACES.map((place) => ({ trigger, place, outcome: outcomeOf(trigger, place) })));

const sourceOf = (trigger: Trigger): string => RULES[trigger].source;
const CALLS = TRIGGERS.filter((trigger) => sourceOf(trigger) === "partner" && trigger !== "create");
const BACKGROUND = TRIGGERS.filter((trigger) => ["timer", "reconcile", "pool"].includes(sourceOf(trigger)));
const isStep = (place: Place) => STEPS.some((step) => step === place);
const isVisible = (place: Place) => place !== "absent" && statusOf({ state: place }) !== null;
// Steps that no call asked for. A partner does not know about them, so they must not make a call fail.
const MAINTENANCE: Place[] = ["thawing", "hibernating"];

// The state after a trigger, if it changes the state.
function targetOf(outcome: Outcome): Place | null {
  if (outcome.do === "enter") return outcome.step;
  if (outcome.do === "move") return outcome.to;
  return outcome.do === "delete" ? "absent" : null;
}

const statusAt = (place: Place) => (place === "absent" ? null : statusOf({ state: place }));
const isConflict = (outcome: Outcome) => outcome.do === "refuse" && outcome.code !== "session_not_found";

interface RuleCase {
  sentence: string;
  // Which pairs the rule speaks about, and what must be true for each.
  about: (pair: (typeof PAIRS)[number]) => boolean;
  holds: (pair: (typeof PAIRS)[number]) => boolean;
}

const CASES: RuleCase[] = [
  {
    sentence: "DELETE wins in every state that a partner can see",
    about: ({ trigger, place }) => trigger === "destroy" && isVisible(place) && place !== "destroyed" && place !== "destroying",
    holds: ({ outcome }) => outcome.do === "enter" && outcome.step === "destroying",
  },
  {
    sentence: "a repeated DELETE is not an error",
    about: ({ trigger, place }) => trigger === "destroy" && (place === "destroying" || place === "destroyed"),
    holds: ({ outcome }) => outcome.do === "join" || outcome.do === "answer_unchanged",
  },
  {
    sentence: "the operator can destroy every session that a partner has or is about to have, as often as wanted",
    about: ({ trigger, place }) => trigger === "operator_destroy" && (isVisible(place) || place === "creating"),
    holds: ({ place, outcome }) =>
      place === "destroying" || place === "destroyed" ? outcome.do === "answer_unchanged" : targetOf(outcome) === "destroying",
  },
  {
    sentence: "the operator finds no session where there is only a blank sandbox",
    about: ({ trigger, place }) => trigger === "operator_destroy" && !isVisible(place) && place !== "creating",
    holds: ({ outcome }) => outcome.do === "refuse" && outcome.code === "session_not_found",
  },
  {
    sentence: "a step that a call began answers 409 to every other call but DELETE",
    about: ({ trigger, place }) =>
      (trigger === "pause" || trigger === "resume") && isStep(place) && isVisible(place) && !MAINTENANCE.includes(place),
    holds: ({ outcome }) => outcome.do === "refuse" && outcome.code === "session_busy",
  },
  {
    sentence: "a maintenance step makes a call wait, or answer as in the state that it started from",
    about: ({ trigger, place }) => (trigger === "pause" || trigger === "resume") && MAINTENANCE.includes(place),
    holds: ({ trigger, place, outcome }) =>
      outcome.do === "wait" || JSON.stringify(outcome) === JSON.stringify(outcomeOf(trigger, place === "thawing" ? "running" : "paused")),
  },
  {
    sentence: "pausing a paused session and resuming a running one is a conflict",
    about: ({ trigger, place }) => (trigger === "pause" && place === "paused") || (trigger === "resume" && place === "running"),
    holds: ({ outcome }) => isConflict(outcome),
  },
  {
    sentence: "a partner cannot reach what it cannot see",
    about: ({ trigger, place }) => CALLS.includes(trigger) && !isVisible(place),
    holds: ({ outcome }) => outcome.do === "refuse" && outcome.code === "session_not_found",
  },
  {
    sentence: "every call but DELETE finds no destroyed session",
    about: ({ trigger, place }) => CALLS.includes(trigger) && trigger !== "destroy" && place === "destroyed",
    holds: ({ outcome }) => outcome.do === "refuse" && outcome.code === "session_not_found",
  },
  {
    sentence: "every call gets an answer",
    about: ({ trigger }) => CALLS.includes(trigger),
    holds: ({ outcome }) => outcome.do !== "ignore",
  },
  {
    sentence: "timers, reconciliation and the pool give no answers to calls",
    about: ({ trigger }) => BACKGROUND.includes(trigger),
    holds: ({ outcome }) => !["refuse", "wait", "join", "answer_unchanged"].includes(outcome.do),
  },
  {
    sentence: "timers and findings do not disturb a step; only an abandoned one is taken over",
    about: ({ trigger, place }) => ["timer", "reconcile"].includes(sourceOf(trigger)) && isStep(place) && trigger !== "abandoned",
    holds: ({ outcome }) => outcome.do === "ignore",
  },
  {
    sentence: "an abandoned step is done again, or undone if it was a create",
    about: ({ trigger, place }) => trigger === "abandoned" && isStep(place),
    holds: ({ place, outcome }) =>
      outcome.do === "enter" && (outcome.step === place || (outcome.step === "discarding" && statusAt(place) === null)),
  },
  {
    sentence: "nothing but purging changes a destroyed session",
    about: ({ trigger, place }) => place === "destroyed" && trigger !== "purge",
    holds: ({ outcome }) => targetOf(outcome) === null && outcome.do !== "update",
  },
  {
    sentence: "a row is deleted only if no partner can see it any more",
    about: ({ outcome }) => outcome.do === "delete",
    holds: ({ place }) => place === "destroyed" || place === "discarding",
  },
  {
    sentence: "only a create and the pool make rows",
    about: ({ place, outcome }) => place === "absent" && targetOf(outcome) !== null,
    holds: ({ trigger }) => trigger === "create" || sourceOf(trigger) === "pool",
  },
  {
    sentence: "the pool touches no session that a partner can see",
    about: ({ trigger, place }) => sourceOf(trigger) === "pool" && isVisible(place),
    holds: ({ outcome }) => outcome.do === "ignore",
  },
  {
    sentence: "what a partner cannot see becomes visible only by a create that is done",
    about: ({ place, outcome }) => !isVisible(place) && targetOf(outcome) !== null && isVisible(targetOf(outcome)!),
    holds: ({ trigger, place }) => place === "creating" && (trigger === "done" || trigger === "operator_destroy"),
  },
  {
    sentence: "entering a step does not change what a partner sees",
    about: ({ place, outcome }) => outcome.do === "enter" && isVisible(place) && outcome.step !== "destroying",
    holds: ({ place, outcome }) => statusAt(targetOf(outcome)!) === statusAt(place),
  },
  {
    sentence: "a change of what a partner sees appends an event",
    about: ({ place, outcome }) =>
      outcome.do === "move" && place !== "destroying" && statusAt(outcome.to) !== statusAt(place) && isVisible(outcome.to),
    holds: ({ outcome }) => outcome.do === "move" && (outcome.events ?? []).length > 0,
  },
  {
    sentence: "only a step that is done appends the event of its end, and a failed one appends none",
    about: ({ trigger }) => trigger === "failed",
    holds: ({ outcome }) => !("events" in outcome) || (outcome.events ?? []).length === 0,
  },
  {
    sentence: "a step ends in a lasting state, in no row, or in another attempt; it cannot be done or failed otherwise",
    about: ({ trigger }) => sourceOf(trigger) === "step",
    holds: ({ place, outcome }) => (isStep(place) ? ["move", "delete", "enter", "release"].includes(outcome.do) : outcome.do === "ignore"),
  },
  {
    sentence: "a failed step leaves a visible session as it was, or leaves the step to reconciliation",
    about: ({ trigger, place }) => trigger === "failed" && isStep(place) && isVisible(place),
    holds: ({ place, outcome }) => (outcome.do === "move" ? statusAt(outcome.to) === statusAt(place) : outcome.do === "release"),
  },
  {
    sentence: "every session that stops says why",
    about: ({ outcome, place }) =>
      (outcome.do === "enter" && (outcome.step === "pausing" || outcome.step === "destroying") && outcome.step !== place) ||
      (outcome.do === "move" && (outcome.events ?? []).includes("session.failed")),
    holds: ({ outcome }) => "stopReason" in outcome && outcome.stopReason !== undefined,
  },
  {
    sentence: "berth down leaves nothing that holds memory: every trigger leads on until a session is paused or gone",
    about: ({ trigger, place }) => trigger === "stop_all" && place !== "absent" && place !== "destroyed",
    holds: ({ trigger, place }) => endsOf(trigger, place).every((end) => end === "paused" || end === "absent" || end === "destroyed"),
  },
  {
    sentence: "berth down --delete destroys every session",
    about: ({ trigger, place }) => trigger === "destroy_all" && place !== "absent" && place !== "destroyed",
    holds: ({ trigger, place }) => endsOf(trigger, place).every((end) => end === "absent" || end === "destroyed"),
  },
];

// Where a session comes to rest if the trigger is pulled and every step succeeds.
function endsOf(trigger: Trigger, place: Place): Place[] {
  const next = targetOf(outcomeOf(trigger, place)) ?? place;
  return isStep(next) ? [targetOf(outcomeOf("done", next)) ?? next] : [next];
}

describe("the table of states", () => {
  test.each(CASES)("$sentence", ({ about, holds }) => {
    const covered = PAIRS.filter(about);
    expect(covered, "the rule speaks about no pair").not.toEqual([]);
    const broken = covered.filter((pair) => !holds(pair));
    expect(broken.map(({ trigger, place, outcome }) => `${trigger} in ${place}: ${JSON.stringify(outcome)}`)).toEqual([]);
  });

  test("every pair of trigger and state is covered by a rule", () => {
    const uncovered = PAIRS.filter((pair) => pair.outcome.do !== "ignore" && !CASES.some(({ about }) => about(pair)));
    expect(uncovered.map(({ trigger, place, outcome }) => `${trigger} in ${place}: ${JSON.stringify(outcome)}`)).toEqual([]);
  });

  test("every state can be reached from no row, and every state leads back to no row", () => {
    const edges = PAIRS.flatMap(({ place, outcome }) => {
      const target = targetOf(outcome);
      return target === null ? [] : [[place, target] as const];
    });
    const reachable = (start: Place, arrows: (readonly [Place, Place])[]) => {
      const seen = new Set([start]);
      for (const place of seen) for (const [from, to] of arrows) if (from === place) seen.add(to);
      return [...seen].toSorted();
    };
    expect(reachable("absent", edges)).toEqual([...PLACES].toSorted());
    expect(
      reachable(
        "absent",
        edges.map(([from, to]) => [to, from]),
      ),
    ).toEqual([...PLACES].toSorted());
  });

  test("during a step a partner sees the state that it started from", () => {
    const shown = (state: SessionState, was?: "running" | "paused") => statusOf({ state, ...(was && { was }) });
    expect(shown("pausing")).toBe("running");
    expect(shown("thawing")).toBe("running");
    expect(shown("resuming")).toBe("paused");
    expect(shown("hibernating")).toBe("paused");
    expect(shown("destroying", "running")).toBe("running");
    expect(shown("destroying", "paused")).toBe("paused");
    expect(shown("destroyed")).toBe("destroyed");
    for (const state of ["warming", "warm", "creating", "discarding"] as const) expect(shown(state)).toBeNull();
  });
});
