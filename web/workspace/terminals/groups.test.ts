import { expect, test } from "vitest";
import { arrangeGroups } from "./groups.ts";

test("terminals that are gone leave, and an empty group goes with them", () => {
  expect(arrangeGroups([["a", "b"], ["c"]], ["b"])).toEqual([["b"]]);
});

test("a new terminal stands alone, or beside the one it was split from", () => {
  expect(arrangeGroups([["a", "b"]], ["a", "b", "c"])).toEqual([["a", "b"], ["c"]]);
  expect(arrangeGroups([["a", "b"]], ["a", "b", "c"], new Map([["c", "a"]]))).toEqual([["a", "c", "b"]]);
});

test("a split from a terminal that has gone meanwhile stands alone", () => {
  expect(arrangeGroups([["a"]], ["c"], new Map([["c", "a"]]))).toEqual([["c"]]);
});
