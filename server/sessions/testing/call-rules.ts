import type { Outcome, Place } from "../states/outcome.ts";
import { outcomeOf, type Trigger } from "../states/states.ts";
import { isLive, isStep, isVisible, restOf, sourceOf, targetOf, TRIGGERS, type PairRule } from "./state-pairs.ts";

// The rules of the API for calls, and the guarantees of the operator's commands.

const CALLS = TRIGGERS.filter((trigger) => sourceOf(trigger) === "partner" && trigger !== "create");
// Steps that no call asked for. A partner does not know about them, so they must not make a call fail.
const MAINTENANCE: Place[] = ["thawing", "rebuilding", "hibernating"];

const isPauseOrResume = (trigger: Trigger) => trigger === "pause" || trigger === "resume";
const isNotFound = (outcome: Outcome) => outcome.do === "refuse" && outcome.code === "session_not_found";

export const CALL_RULES: PairRule[] = [
  {
    sentence: "a create makes a row, and the session ends running",
    about: ({ trigger, place }) => trigger === "create" && place === "absent",
    holds: ({ place, outcome }) => outcome.do === "enter" && restOf(place, outcome) === "running",
  },
  {
    sentence: "a create never touches an existing session",
    about: ({ trigger, place }) => trigger === "create" && place !== "absent",
    holds: ({ outcome }) => outcome.do === "ignore",
  },
  {
    sentence: "pausing a running session ends paused, and resuming a paused one ends running, each through a step",
    about: ({ trigger, place }) => (trigger === "pause" && place === "running") || (trigger === "resume" && place === "paused"),
    holds: ({ trigger, place, outcome }) =>
      outcome.do === "enter" && restOf(place, outcome) === (trigger === "pause" ? "paused" : "running"),
  },
  {
    sentence: "pausing a paused session and resuming a running one is a conflict",
    about: ({ trigger, place }) => (trigger === "pause" && place === "paused") || (trigger === "resume" && place === "running"),
    holds: ({ trigger, outcome }) =>
      outcome.do === "refuse" && outcome.code === (trigger === "pause" ? "session_already_paused" : "session_already_running"),
  },
  {
    sentence: "DELETE wins in every state that a partner can see",
    about: ({ trigger, place }) => trigger === "destroy" && isLive(place),
    holds: ({ outcome }) => targetOf(outcome) === "destroying",
  },
  {
    sentence: "a DELETE during another DELETE waits for it, and a repeated one answers at once",
    about: ({ trigger, place }) => trigger === "destroy" && (place === "destroying" || place === "destroyed"),
    holds: ({ place, outcome }) => outcome.do === (place === "destroying" ? "join" : "answer_unchanged"),
  },
  {
    sentence: "a step that a call began answers 409 to every other call but DELETE",
    about: ({ trigger, place }) => isPauseOrResume(trigger) && isStep(place) && isVisible(place) && !MAINTENANCE.includes(place),
    holds: ({ outcome }) => outcome.do === "refuse" && outcome.code === "session_busy",
  },
  {
    sentence: "a maintenance step refuses what the state that it started from refuses, and makes every other call wait",
    about: ({ trigger, place }) => isPauseOrResume(trigger) && MAINTENANCE.includes(place),
    holds({ trigger, place, outcome }) {
      const before = outcomeOf(trigger, place === "hibernating" ? "paused" : "running");
      return before.do === "refuse" ? JSON.stringify(outcome) === JSON.stringify(before) : outcome.do === "wait";
    },
  },
  {
    sentence: "a partner can change timeout and metadata of every session that is not on its way out, without moving it",
    about: ({ trigger, place }) => trigger === "change" && isVisible(place),
    holds: ({ place, outcome }) => (isLive(place) ? outcome.do === "update" : isNotFound(outcome)),
  },
  {
    sentence: "a partner cannot reach what it cannot see",
    about: ({ trigger, place }) => CALLS.includes(trigger) && !isVisible(place),
    holds: ({ outcome }) => isNotFound(outcome),
  },
  {
    sentence: "every call but DELETE finds no destroyed session",
    about: ({ trigger, place }) => CALLS.includes(trigger) && trigger !== "destroy" && place === "destroyed",
    holds: ({ outcome }) => isNotFound(outcome),
  },
  {
    sentence: "a session that someone opens is running: at once, after one resume, or when the step under way is over",
    about: ({ trigger, place }) => trigger === "wake" && isLive(place),
    holds({ place, outcome }) {
      if (place === "paused") return outcome.do === "enter" && restOf(place, outcome) === "running";
      if (place === "running" || place === "thawing") return outcome.do === "answer_unchanged";
      return outcome.do === (place === "resuming" ? "join" : "wait");
    },
  },
  {
    sentence: "a person gets more time only while the session runs, and that moves nothing",
    about: ({ trigger, place }) => trigger === "extend" && isLive(place),
    holds: ({ place, outcome }) => (place === "running" ? outcome.do === "update" : isNotFound(outcome)),
  },
  {
    sentence: "opening or extending finds nothing that is destroyed, on its way out, or unknown to partners",
    about: ({ trigger, place }) => (trigger === "wake" || trigger === "extend") && !isLive(place),
    holds: ({ outcome }) => isNotFound(outcome),
  },
  {
    sentence: "the operator can destroy every session that a partner has or is about to have, as often as wanted",
    about: ({ trigger, place }) => trigger === "operator_destroy" && (isVisible(place) || place === "creating"),
    holds: ({ place, outcome }) =>
      isLive(place) || place === "creating" ? targetOf(outcome) === "destroying" : outcome.do === "answer_unchanged",
  },
  {
    sentence: "the operator finds no session where there is only a blank sandbox",
    about: ({ trigger, place }) => trigger === "operator_destroy" && !isVisible(place) && place !== "creating",
    holds: ({ outcome }) => isNotFound(outcome),
  },
  {
    sentence: "the operator can give a session to a sandbox without one, and changes no session by that",
    about: ({ trigger }) => trigger === "operator_recover",
    holds: ({ place, outcome }) => (place === "absent" ? targetOf(outcome) === "paused" : outcome.do === "ignore"),
  },
  {
    sentence: "the operator can wake a paused session, and a step that pauses it has to end first",
    about: ({ trigger, place }) => trigger === "operator_wake" && isLive(place),
    holds({ place, outcome }) {
      if (place === "paused") return restOf(place, outcome) === "running";
      return outcome.do === (place === "pausing" || place === "hibernating" ? "refuse" : "answer_unchanged");
    },
  },
  {
    sentence: "the operator cannot wake what is not a live session",
    about: ({ trigger, place }) => trigger === "operator_wake" && !isLive(place),
    holds: ({ outcome }) => isNotFound(outcome),
  },
  {
    sentence: "the deletion of a partner deletes its destroyed sessions, and no other",
    about: ({ trigger }) => trigger === "delete_partner",
    holds: ({ place, outcome }) => outcome.do === (place === "destroyed" ? "delete" : "ignore"),
  },
  {
    sentence: "berth down pauses every session, discards every blank, and finishes what is on its way out",
    about: ({ trigger, place }) => trigger === "stop_all" && place !== "absent" && place !== "destroyed",
    holds: ({ place, outcome }) => restOf(place, outcome) === (isLive(place) ? "paused" : isVisible(place) ? "destroyed" : "absent"),
  },
  {
    sentence: "berth down --delete destroys every session and discards every blank",
    about: ({ trigger, place }) => trigger === "destroy_all" && place !== "absent" && place !== "destroyed",
    holds: ({ place, outcome }) => restOf(place, outcome) === (isVisible(place) ? "destroyed" : "absent"),
  },
  {
    sentence: "berth down works through steps, except that it undoes a resume at once",
    about: ({ trigger, place }) => (trigger === "stop_all" || trigger === "destroy_all") && place !== "absent" && place !== "destroyed",
    holds: ({ trigger, place, outcome }) => outcome.do === (trigger === "stop_all" && place === "resuming" ? "move" : "enter"),
  },
  {
    sentence: "berth down has nothing to do where there is no sandbox",
    about: ({ trigger, place }) => (trigger === "stop_all" || trigger === "destroy_all") && (place === "absent" || place === "destroyed"),
    holds: ({ outcome }) => outcome.do === "ignore",
  },
  {
    sentence: "berth down leaves no paused session with its memory",
    about: ({ trigger, place }) => trigger === "stop_all" && (place === "paused" || place === "hibernating"),
    holds: ({ outcome }) => targetOf(outcome) === "hibernating",
  },
];
