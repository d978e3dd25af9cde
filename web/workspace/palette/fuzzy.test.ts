import { expect, test } from "vitest";
import { fuzzyFilter, fuzzyScore } from "./fuzzy.ts";

test("all letters must occur in order", () => {
  expect(fuzzyScore("svl", "Save all")).not.toBeNull();
  expect(fuzzyScore("lvs", "Save all")).toBeNull();
});

test("consecutive letters rank first", () => {
  expect(fuzzyFilter(["New terminal", "Next tab", "Split terminal"], "term", String)).toEqual(["New terminal", "Split terminal"]);
  expect(fuzzyFilter(["Show all in ve", "Save"], "save", String)[0]).toBe("Save");
});

test("an empty query keeps all items in their order", () => {
  expect(fuzzyFilter(["b", "a"], " ", String)).toEqual(["b", "a"]);
});
