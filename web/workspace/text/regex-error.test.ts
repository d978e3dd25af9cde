import { expect, test } from "vitest";
import { describeRegexError } from "./regex-error.ts";

test.each([
  ["a+", null],
  ["(", "A ( has no matching )"],
  [")", "A ) has no matching ("],
  ["[a", "A [ has no matching ]"],
  ["*", "There is nothing before *, + or ? that could be repeated"],
  ["\\", "The \\ at the end needs a character after it"],
  ["[z-a]", "A range in [ ] goes backwards, such as z-a"],
  ["a{2,1}", "The numbers in { } are in the wrong order"],
  ["a{", "A { or } needs a \\ before it"],
  ["\\j", "A \\ stands before a character that does not need it"],
  ["(?x", "A group starts with (? but is not complete"],
])("explains %s", (source, expected) => {
  expect(describeRegexError(source)).toBe(expected);
});

test("names the reason if it has no plain words for it", () => {
  expect(describeRegexError("(?<a>)(?<a>)")).toBe("This is not a valid regular expression: Duplicate capture group name");
});
