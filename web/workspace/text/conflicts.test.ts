import { expect, test } from "vitest";
import { findConflicts } from "./conflicts.ts";

test("conflicts are found by their markers, with the text before both changes if it is there", () => {
  const text = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\nd\n<<<<<<< ours\r\n||||||| base\r\n=======\r\n>>>>>>> theirs\r\n";
  expect(findConflicts(text.split("\n"))).toEqual([
    { start: 2, base: null, separator: 4, end: 6 },
    { start: 8, base: 9, separator: 10, end: 11 },
  ]);
});

test("markers that form no whole conflict are text", () => {
  for (const text of [
    "=======\n>>>>>>> x",
    "<<<<<<< x\n>>>>>>> y",
    "<<<<<<<< x\n=======\n>>>>>>> y",
    " <<<<<<< x\n=======\n>>>>>>> y",
    "Title\n=======",
  ])
    expect(findConflicts(text.split("\n"))).toEqual([]);
  expect(findConflicts("<<<<<<< a\n<<<<<<< b\n=======\n>>>>>>> c".split("\n"))).toEqual([{ start: 2, base: null, separator: 3, end: 4 }]);
});
