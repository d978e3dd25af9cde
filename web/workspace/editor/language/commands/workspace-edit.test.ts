import { expect, test } from "vitest";
import { applyEdits } from "./workspace-edit.ts";

const at = (line: number, from: number, to: number, newText: string) => ({
  range: { start: { line, character: from }, end: { line, character: to } },
  newText,
});

test("edits refer to positions in the original text", () => {
  const edits = [at(0, 0, 3, "first"), at(1, 0, 3, "second"), at(0, 4, 7, "")];
  expect(applyEdits("one two\ntwo\n", edits)).toBe("first \nsecond\n");
});

test("line endings of the file stay", () => {
  expect(applyEdits("one\r\ntwo\r\n", [at(1, 0, 3, "2\n3")])).toBe("one\r\n2\r\n3\r\n");
});

test("a position behind the end of the text means its end", () => {
  expect(applyEdits("one", [at(0, 3, 3, "!"), at(7, 0, 0, "?")])).toBe("one!?");
});
