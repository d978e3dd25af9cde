import { expect, test } from "vitest";
import { parseRange } from "./content.ts";

test.each([
  [undefined, null],
  ["bytes=0-0", { start: 0, end: 0 }],
  ["bytes=5-", { start: 5, end: 9 }],
  ["bytes=5-99", { start: 5, end: 9 }],
  ["bytes=-3", { start: 7, end: 9 }],
  ["bytes=-99", { start: 0, end: 9 }],
  ["bytes=-0", "unsatisfiable"],
  ["bytes=10-", "unsatisfiable"],
  ["bytes=7-3", null],
  ["bytes=0-1,3-4", null],
  ["items=0-1", null],
  ["bytes=-", null],
])("of ten bytes, the range %s is %j", (header, range) => {
  expect(parseRange(header, 10)).toEqual(range);
});

test("an empty file has no range", () => {
  expect(parseRange("bytes=0-", 0)).toBe("unsatisfiable");
  expect(parseRange("bytes=-1", 0)).toBe("unsatisfiable");
});
