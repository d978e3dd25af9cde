import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RULES, type Trigger } from "../../server/sessions/states/states.ts";
import { SESSION_STATES } from "../../server/store/sessions/session.ts";
import { drawStates, STATES_PICTURE } from "./draw-states.ts";

test("the picture of the states is current; if not, run `node scripts/structure/draw-states.ts`", () => {
  expect(readFileSync(join(import.meta.dirname, "../..", STATES_PICTURE), "utf8")).toBe(drawStates());
});

test("the picture names every state and every trigger that moves a session", () => {
  const words = [...drawStates().matchAll(/>([^<>]+)<\/text>/g)].map(([, word]) => word);
  const movesNothing = ["change", "warn", "active", "extend", "stopped", "unknown", "orphan"];
  const ofSetup = Object.keys(RULES).filter((trigger) => RULES[trigger as Trigger].source === "setup");
  // An abandoned step stays in its state, unless it was a create.
  const moving = Object.keys(RULES).filter((trigger) => ![...movesNothing, ...ofSetup].includes(trigger));
  expect([...SESSION_STATES, ...moving].filter((word) => !words.includes(word))).toEqual([]);
});
