import { expect, test } from "vitest";
import { replacementAt, replaceMatches, type ReplaceQuery } from "./replace-matches.ts";

const query = (change: Partial<ReplaceQuery> = {}): ReplaceQuery => ({
  text: "cat",
  replacement: "dog",
  matchCase: false,
  word: false,
  regex: false,
  ...change,
});

test("only the given places are replaced, and line endings stay", () => {
  const text = "cat cat\r\nno\r\nCat\r\n";
  const places = [
    { line: 3, column: 1, length: 3 },
    { line: 1, column: 5, length: 3 },
  ];
  expect(replaceMatches(text, places, query())).toEqual({ text: "cat dog\r\nno\r\ndog\r\n", count: 2, missed: 0 });
});

test("a place that has changed since the search is left as it is", () => {
  const places = [
    { line: 1, column: 1, length: 3 },
    { line: 2, column: 1, length: 3 },
    { line: 9, column: 1, length: 3 },
  ];
  expect(replaceMatches("cow\ncat", places, query())).toEqual({ text: "cow\ndog", count: 1, missed: 2 });
  expect(replaceMatches("Cat", [{ line: 1, column: 1, length: 3 }], query({ matchCase: true }))).toMatchObject({ count: 0, missed: 1 });
  expect(replaceMatches("cats", [{ line: 1, column: 1, length: 3 }], query({ word: true }))).toMatchObject({ count: 0 });
});

test("plain text has no special characters", () => {
  const dots = query({ text: "a.b-c/d", replacement: "$1\\n" });
  expect(replacementAt("x a.b-c/d", 2, 7, dots)).toBe("$1\\n");
  expect(replacementAt("x aXb-c/d", 2, 7, dots)).toBeNull();
  expect(replacementAt("x a.b-c/d", 2, 7, { ...dots, word: true })).toBe("$1\\n");
});

test("a replacement of a regular expression has groups and escapes", () => {
  const groups = query({ text: "(\\w+)@(\\w+)", replacement: "$2 at $1$$\\n$&$3", regex: true });
  expect(replacementAt("to me@home", 3, 7, groups)).toBe("home at me$\nme@home$3");
  expect(replacementAt("abc", 0, 3, query({ text: "^abc$", replacement: "x", regex: true }))).toBe("x");
  expect(replacementAt("a-b", 0, 3, query({ text: "a\\-b", replacement: "x", regex: true }))).toBe("x");
});
