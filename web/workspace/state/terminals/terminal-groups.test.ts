import { expect, test } from "vitest";
import { arrangeGroups, placeBeside } from "./terminal-groups.ts";

test("closed terminals and groups that become empty are removed", () => {
  expect(arrangeGroups([["a", "b"], ["c"]], ["b"])).toEqual([["b"]]);
});

test("a new terminal gets its own group", () => {
  expect(arrangeGroups([["a", "b"]], ["a", "b", "c"])).toEqual([["a", "b"], ["c"]]);
});

test("a split terminal moves next to its origin", () => {
  expect(placeBeside([["a", "b"], ["c"]], "c", "a")).toEqual([["a", "c", "b"]]);
});

test("a split terminal whose origin is closed stays where it is", () => {
  expect(placeBeside([["c"]], "c", "a")).toEqual([["c"]]);
});
