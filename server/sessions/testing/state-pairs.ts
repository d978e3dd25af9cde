import { SESSION_STATES, statusOf } from "../../store/sessions/session.ts";
import { STEPS, type Outcome, type Place } from "../states/outcome.ts";
import { outcomeOf, RULES, type Trigger } from "../states/states.ts";

export interface Pair {
  trigger: Trigger;
  place: Place;
  outcome: Outcome;
}

// A sentence about the table of states that holds for many pairs at once.
export interface PairRule {
  sentence: string;
  // `about` selects the pairs of the sentence, and `holds` says what must be true for each of them.
  about(pair: Pair): boolean;
  holds(pair: Pair): boolean;
}

export const PLACES: readonly Place[] = ["absent", ...SESSION_STATES];
export const TRIGGERS = Object.keys(RULES) as Trigger[];

export const allPairs = (): Pair[] =>
  TRIGGERS.flatMap((trigger) => PLACES.map((place) => ({ trigger, place, outcome: outcomeOf(trigger, place) })));

export const sourceOf = (trigger: Trigger): string => RULES[trigger].source;

export const isStep = (place: Place): boolean => STEPS.some((step) => step === place);

export const statusAt = (place: Place) => (place === "absent" ? null : statusOf({ state: place }));

export const isVisible = (place: Place): boolean => statusAt(place) !== null;

// Visible and not on its way out.
export const isLive = (place: Place): boolean => isVisible(place) && place !== "destroying" && place !== "destroyed";

// The place after a trigger; null if the trigger does not move the session.
export function targetOf(outcome: Outcome): Place | null {
  if (outcome.do === "enter") return outcome.step;
  if (outcome.do === "move") return outcome.to;
  return outcome.do === "delete" ? "absent" : null;
}

// Where a session comes to rest after an outcome, if every step succeeds.
export function restOf(place: Place, outcome: Outcome): Place {
  const next = targetOf(outcome) ?? place;
  return isStep(next) ? (targetOf(outcomeOf("done", next)) ?? next) : next;
}

export const eventsOf = (outcome: Outcome): readonly string[] => ("events" in outcome ? (outcome.events ?? []) : []);

export const reasonOf = (outcome: Outcome): string | undefined => ("stopReason" in outcome ? outcome.stopReason : undefined);
