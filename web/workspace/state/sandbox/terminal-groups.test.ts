import { expect, test } from "vitest";
import { arrangeGroups, placeBeside } from "./terminal-groups.ts";

test("terminals that are gone leave, and an empty group goes with them", () => {
  expect(arrangeGroups([["a", "b"], ["c"]], ["b"])).toEqual([["b"]]);
});

test("a new terminal stands alone at first", () => {
  expect(arrangeGroups([["a", "b"]], ["a", "b", "c"])).toEqual([["a", "b"], ["c"]]);
});

test("a terminal that was split off moves next to the one it came from", () => {
  expect(placeBeside([["a", "b"], ["c"]], "c", "a")).toEqual([["a", "c", "b"]]);
});

test("a split from a terminal that has gone meanwhile stays where it is", () => {
  expect(placeBeside([["c"]], "c", "a")).toEqual([["c"]]);
});
