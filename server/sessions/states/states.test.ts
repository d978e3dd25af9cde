import { describe, expect, test } from "vitest";
import { statusOf, type SessionState } from "../../store/sessions/session.ts";
import type { Place } from "./outcome.ts";
import { BACKGROUND_RULES } from "../testing/background-rules.ts";
import { CALL_RULES } from "../testing/call-rules.ts";
import { allPairs, PLACES, targetOf, type Pair } from "../testing/state-pairs.ts";

const PAIRS = allPairs();
const CASES = [...CALL_RULES, ...BACKGROUND_RULES];
const describePair = ({ trigger, place, outcome }: Pair) => `${trigger} in ${place}: ${JSON.stringify(outcome)}`;

describe("the table of states", () => {
  test.each(CASES)("$sentence", ({ about, holds }) => {
    expect(PAIRS.filter((pair) => about(pair) && !holds(pair)).map(describePair)).toEqual([]);
  });

  test("every pair of trigger and state is subject to a rule", () => {
    expect(PAIRS.filter((pair) => !CASES.some(({ about }) => about(pair))).map(describePair)).toEqual([]);
  });

  test("every state can be reached from no row, and every state leads back to no row", () => {
    const edges = PAIRS.flatMap(({ place, outcome }) => {
      const target = targetOf(outcome);
      return target === null ? [] : [[place, target] as const];
    });
    const reachable = (arrows: (readonly [Place, Place])[]) => {
      const found = new Set<Place>(["absent"]);
      for (const place of found) for (const [from, to] of arrows) if (from === place) found.add(to);
      return [...found].toSorted();
    };
    expect(reachable(edges)).toEqual([...PLACES].toSorted());
    expect(reachable(edges.map(([from, to]) => [to, from]))).toEqual([...PLACES].toSorted());
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
