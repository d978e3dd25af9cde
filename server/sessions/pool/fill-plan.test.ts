import { expect, test } from "vitest";
import { MINUTE } from "../../clock.ts";
import type { Blank } from "../../store/sessions/session.ts";
import { loadTemplates } from "../../templates.ts";
import { planFill, type FillFacts } from "./fill-plan.ts";

const NOW_MS = 100 * MINUTE;
const ordinary = loadTemplates(undefined).get("default")!;
const [first, second] = ["first", "second"].map((name) => ({ template: { ...ordinary, name }, templateHash: "hash" }));

const blank = (name: string, ageMinutes = 0, changes: Partial<Blank> = {}) =>
  ({
    id: `${name} ${ageMinutes}`,
    state: "warm",
    template: name,
    templateHash: "hash",
    createdAtMs: NOW_MS - ageMinutes * MINUTE,
    ...changes,
  }) as Blank;

const plan = (facts: Partial<FillFacts>) =>
  planFill({
    blanks: [],
    kinds: [first!],
    nowMs: NOW_MS,
    size: 1,
    max: 10,
    demandFor: () => 1,
    room: Infinity,
    excess: 0,
    ...facts,
  });
const ids = (blanks: Blank[]) => blanks.map(({ id }) => id);
const targets = (facts: Partial<FillFacts>) => plan(facts).targets.map(({ target }) => target);

test("blanks beyond the demand are evicted when they have not been used for ten minutes, the oldest first", () => {
  const blanks = [12, 1, 30, 9].map((age) => blank("first", age));
  expect(plan({ blanks })).toMatchObject({ evictNow: [], targets: [{ have: 4, target: 1 }] });
  expect(ids(plan({ blanks }).shrink)).toEqual(["first 30", "first 12"]);
  expect(ids(plan({ blanks, demandFor: () => 3 }).shrink)).toEqual(["first 30"]);
  expect(plan({ blanks, demandFor: () => 4 }).shrink).toEqual([]);
});

test("blanks that are outdated, beyond the maximum or beyond the server's limit are evicted at once", () => {
  const blanks = [blank("first", 1), blank("first", 2), blank("gone", 3)];
  expect(ids(plan({ blanks }).evictNow)).toEqual(["gone 3"]);
  expect(ids(plan({ blanks, max: 1 }).evictNow)).toEqual(["gone 3", "first 2"]);
  expect(ids(plan({ blanks, excess: 2 }).evictNow)).toEqual(["gone 3", "first 1"]);
  expect(plan({ blanks: [blank("gone", 3, { state: "warming" })] }).evictNow).toEqual([]);
});

test("templates share the memory that is free for growth, and always get the pool's size", () => {
  const demandFor = () => 5;
  const kinds = [first!, second!];
  expect(targets({ kinds, demandFor })).toEqual([5, 5]);
  expect(targets({ kinds, demandFor, room: 7 })).toEqual([5, 2]);
  expect(targets({ kinds, demandFor, room: 0 })).toEqual([1, 1]);
});

test("when memory becomes scarce, blanks beyond what it allows are evicted at once", () => {
  const blanks = [1, 2, 3, 4].map((age) => blank("first", age));
  expect(ids(plan({ blanks, demandFor: () => 4, room: 2 }).evictNow)).toEqual(["first 3", "first 4"]);
});
