import { expect, test } from "vitest";
import { bytesOf, withControl } from "./key-bytes.ts";

test("arrows follow the mode that the program requested", () => {
  expect(bytesOf("Up", { applicationCursorKeys: false })).toBe("\x1b[A");
  expect(bytesOf("Left", { applicationCursorKeys: true })).toBe("\x1bOD");
  expect(bytesOf("Escape", { applicationCursorKeys: true })).toBe("\x1b");
});

test("Ctrl turns a letter into its control character and leaves other text as it is", () => {
  expect(["c", "C", "[", "1", "word"].map(withControl)).toEqual(["\x03", "\x03", "\x1b", "1", "word"]);
});
