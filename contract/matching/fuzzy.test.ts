import { expect, test } from "vitest";
import { matchLetters, startsWord } from "./fuzzy.ts";

test("letters match in order, ignoring case and spaces", () => {
  expect(matchLetters("m S", "src/Main.ts")).toEqual([4, 10]);
  expect(matchLetters("", "anything")).toEqual([]);
});

test("a missing letter, or one out of order, does not match", () => {
  expect(matchLetters("sm", "main.s")).toBeNull();
  expect(matchLetters("x", "main")).toBeNull();
});

test("words start at the beginning and after a separator", () => {
  const text = "a-b/c.d_e f";
  const positions = Array.from({ length: text.length }, (_, position) => position);
  expect(positions.filter((position) => startsWord(text, position))).toEqual([0, 2, 4, 6, 8, 10]);
});
