import type { Place } from "../states/outcome.ts";
import type { Trigger } from "../states/states.ts";
import { eventsOf, isLive, isStep, isVisible, reasonOf, restOf, sourceOf, statusAt, targetOf, type PairRule } from "./state-pairs.ts";

// The rules of the design for timers, reconciliation, the pool and the ends of steps.

// The state that a timer measures, and where it takes the session.
const TIMERS: Partial<Record<Trigger, { measures: Place; ends: Place }>> = {
  warn: { measures: "running", ends: "running" },
  timeout: { measures: "running", ends: "paused" },
  timeout_destroy: { measures: "running", ends: "destroyed" },
  idle: { measures: "running", ends: "paused" },
  hibernate: { measures: "paused", ends: "paused" },
  retention: { measures: "paused", ends: "destroyed" },
  purge: { measures: "destroyed", ends: "absent" },
};

// For each finding: the states that it contradicts, and the state of the session after the repair. A warm sandbox in the wrong
// condition is always discarded.
const FINDINGS: Partial<Record<Trigger, { contradicts: Place[]; ends: Place }>> = {
  lost: { contradicts: ["warm", "running"], ends: "paused" },
  returned: { contradicts: ["paused"], ends: "running" },
  stopped: { contradicts: ["paused"], ends: "paused" },
  awake: { contradicts: ["paused"], ends: "paused" },
  frozen: { contradicts: ["warm", "running"], ends: "running" },
  disk_full: { contradicts: ["running"], ends: "paused" },
  disk_freed: { contradicts: ["paused"], ends: "running" },
  disk_failed: { contradicts: ["warm", "running"], ends: "paused" },
};

const POOL: Partial<Record<Trigger, { takes: Place[]; ends: Place }>> = {
  fill: { takes: ["absent"], ends: "warm" },
  claim: { takes: ["warm"], ends: "running" },
  swap: { takes: ["creating"], ends: "absent" },
  evict: { takes: ["warming", "warm"], ends: "absent" },
};

const REASONS: Partial<Record<Trigger, string>> = {
  timeout: "timeout",
  timeout_destroy: "timeout",
  idle: "idle",
  retention: "retention",
  lost: "sandbox_lost",
  disk_full: "disk_full",
  disk_failed: "disk_failed",
};

const SETUP_EVENTS: Partial<Record<Trigger, string>> = {
  source_ready: "session.source_ready",
  source_failed: "session.source_failed",
  setup_finished: "session.setup_finished",
};

const EVENTS_OF_STEPS: Partial<Record<Place, string>> = {
  creating: "session.created",
  pausing: "session.paused",
  resuming: "session.resumed",
  destroying: "session.destroyed",
};

export const BACKGROUND_RULES: PairRule[] = [
  {
    sentence: "a timer acts only on the state that it measures, and takes the session where it says",
    about: ({ trigger }) => trigger in TIMERS,
    holds: ({ trigger, place, outcome }) =>
      place === TIMERS[trigger]!.measures
        ? outcome.do !== "ignore" && restOf(place, outcome) === TIMERS[trigger]!.ends
        : outcome.do === "ignore",
  },
  {
    sentence: "a warning appends its event and moves nothing",
    about: ({ trigger, outcome }) => trigger === "warn" && outcome.do !== "ignore",
    holds: ({ outcome }) => outcome.do === "update" && eventsOf(outcome).join() === "session.timeout_warning",
  },
  {
    sentence: "the use of a session is noted while it runs, and moves nothing",
    about: ({ trigger }) => trigger === "active",
    holds: ({ place, outcome }) => outcome.do === (place === "running" ? "update" : "ignore") && eventsOf(outcome).length === 0,
  },
  {
    sentence: "reports of a setup count while the session runs, each with its own event, and move nothing",
    about: ({ trigger }) => sourceOf(trigger) === "setup" && trigger !== "use_image",
    holds: ({ trigger, place, outcome }) =>
      place === "running" ? outcome.do === "update" && eventsOf(outcome).join() === (SETUP_EVENTS[trigger] ?? "") : outcome.do === "ignore",
  },
  {
    sentence: "an image of the repository works on the sandbox of a running session, which runs afterwards",
    about: ({ trigger }) => trigger === "use_image",
    holds: ({ place, outcome }) =>
      place === "running" ? outcome.do === "enter" && restOf(place, outcome) === "running" : outcome.do === "ignore",
  },
  {
    sentence: "hibernating gives memory back, so it works on the sandbox",
    about: ({ trigger, place }) => (trigger === "hibernate" || trigger === "awake") && place === "paused",
    holds: ({ outcome }) => targetOf(outcome) === "hibernating",
  },
  {
    sentence: "a finding acts only where it contradicts the store; a session then agrees with the engine, a blank is discarded",
    about: ({ trigger }) => trigger in FINDINGS,
    holds({ trigger, place, outcome }) {
      const { contradicts, ends } = FINDINGS[trigger]!;
      if (!contradicts.includes(place)) return outcome.do === "ignore";
      return outcome.do !== "ignore" && restOf(place, outcome) === (isVisible(place) ? ends : "absent");
    },
  },
  {
    sentence: "what reconciliation does to a sandbox, it does in a step under a lease",
    about: ({ trigger, place }) =>
      ["returned", "awake", "frozen", "disk_full", "disk_freed", "disk_failed"].includes(trigger) &&
      (FINDINGS[trigger]?.contradicts ?? []).includes(place),
    holds: ({ outcome }) => outcome.do === "enter",
  },
  {
    sentence: "a sandbox that stopped by itself needs no work, only the truth in the row",
    about: ({ trigger, place }) => (trigger === "lost" && place === "running") || (trigger === "stopped" && place === "paused"),
    holds: ({ trigger, outcome }) => outcome.do === (trigger === "lost" ? "move" : "update"),
  },
  {
    sentence: "a partner hears that its session failed before it hears that it is paused",
    about: ({ trigger, place }) => trigger === "lost" && place === "running",
    holds: ({ outcome }) => eventsOf(outcome).join() === "session.failed,session.paused",
  },
  {
    sentence: "files without a row are kept, whatever happened to the row",
    about: ({ trigger }) => trigger === "unknown",
    holds: ({ place, outcome }) => outcome.do === (place === "absent" ? "quarantine_sandbox" : "ignore"),
  },
  {
    sentence: "a sandbox is an orphan only if no session needs it, and only the sandbox goes",
    about: ({ trigger }) => trigger === "orphan",
    holds: ({ place, outcome }) => outcome.do === (place === "absent" || place === "destroyed" ? "destroy_sandbox" : "ignore"),
  },
  {
    sentence: "an abandoned create is undone, and every other abandoned step is taken over as it is",
    about: ({ trigger }) => trigger === "abandoned",
    holds({ place, outcome }) {
      if (!isStep(place)) return outcome.do === "ignore";
      return targetOf(outcome) === (isVisible(place) ? place : "discarding") && reasonOf(outcome) === undefined;
    },
  },
  {
    sentence: "the pool takes only what belongs to it",
    about: ({ trigger }) => sourceOf(trigger) === "pool",
    holds: ({ trigger, place, outcome }) =>
      POOL[trigger]!.takes.includes(place)
        ? outcome.do === "enter" && restOf(place, outcome) === POOL[trigger]!.ends
        : outcome.do === "ignore",
  },
  {
    sentence: "a step ends only once: done and failed mean nothing outside a step",
    about: ({ trigger, place }) => sourceOf(trigger) === "step" && !isStep(place),
    holds: ({ outcome }) => outcome.do === "ignore",
  },
  {
    sentence: "a step that is done leads to a lasting state, or deletes what no partner has seen",
    about: ({ trigger, place }) => trigger === "done" && isStep(place),
    holds: ({ place, outcome }) => (place === "discarding" ? outcome.do === "delete" : outcome.do === "move"),
  },
  {
    sentence: "a step that is done appends its event, and a maintenance step none",
    about: ({ trigger, place }) => trigger === "done" && isStep(place),
    holds: ({ place, outcome }) => eventsOf(outcome).join() === (EVENTS_OF_STEPS[place] ?? ""),
  },
  {
    sentence: "a maintenance step ends as what it was",
    about: ({ trigger, place }) => trigger === "done" && ["thawing", "rebuilding", "hibernating"].includes(place),
    holds: ({ place, outcome }) => targetOf(outcome) === (place === "hibernating" ? "paused" : "running"),
  },
  {
    sentence: "a failed step leaves a session as it was, undoes a create, and retries what must not be left half done",
    about: ({ trigger, place }) => trigger === "failed" && isStep(place),
    holds({ place, outcome }) {
      if (isLive(place)) return outcome.do === "move" && statusAt(outcome.to) === statusAt(place) && eventsOf(outcome).length === 0;
      return place === "destroying" || place === "discarding" ? outcome.do === "release" : targetOf(outcome) === "discarding";
    },
  },
  {
    sentence: "only the end of a step, a loss, a warning and the reports of a setup append events",
    about: ({ outcome }) => eventsOf(outcome).length > 0,
    holds: ({ trigger }) => ["done", "lost", "warn"].includes(trigger) || sourceOf(trigger) === "setup",
  },
  {
    sentence: "a session skips the step only if its sandbox has stopped already, or if nothing was started",
    about: ({ trigger, outcome }) => (outcome.do === "move" || outcome.do === "delete") && sourceOf(trigger) !== "step",
    holds: ({ trigger, place }) =>
      (trigger === "lost" && place === "running") ||
      (trigger === "stop_all" && place === "resuming") ||
      trigger === "operator_recover" ||
      trigger === "purge" ||
      trigger === "delete_partner",
  },
  {
    sentence: "nothing but purging and the deletion of its partner changes a destroyed session",
    about: ({ trigger, place }) => place === "destroyed" && trigger !== "purge" && trigger !== "delete_partner",
    holds: ({ outcome }) => targetOf(outcome) === null && outcome.do !== "update",
  },
  {
    sentence: "what a partner cannot see becomes visible only by a create that is done, or by the operator's destroy or recovery",
    about: ({ place, outcome }) => !isVisible(place) && targetOf(outcome) !== null && isVisible(targetOf(outcome)!),
    holds: ({ trigger, place }) =>
      trigger === "operator_recover" || (place === "creating" && (trigger === "done" || trigger === "operator_destroy")),
  },
  {
    sentence: "entering a step does not change what a partner sees",
    about: ({ place, outcome }) => outcome.do === "enter" && isVisible(place) && outcome.step !== "destroying",
    holds: ({ place, outcome }) => statusAt(targetOf(outcome)!) === statusAt(place),
  },
  {
    sentence: "a session that stops says why: the timer, the loss, the disk, or otherwise a call",
    about: ({ place, outcome }) =>
      (outcome.do === "enter" && ["pausing", "destroying"].includes(outcome.step) && outcome.step !== place) ||
      eventsOf(outcome).includes("session.failed"),
    holds: ({ trigger, outcome }) => reasonOf(outcome) === (REASONS[trigger] ?? "api"),
  },
  {
    sentence: "a step that is taken over keeps its reason, and nothing else gives one",
    about: ({ place, outcome }) =>
      reasonOf(outcome) !== undefined &&
      !(targetOf(outcome) !== place && ["pausing", "destroying", "paused"].includes(targetOf(outcome) ?? "")),
    holds: () => false,
  },
];
