import * as fc from "fast-check";
import { expect, test } from "vitest";
import { countLines, hunksOf, linesAfter, linesBefore, splitLines } from "./line-diff.ts";

const draw = (before: string, after: string) =>
  hunksOf(before, after).flatMap(({ lines }, index) => [
    ...(index > 0 ? ["~"] : []),
    ...lines.map(({ kind, text }) => `${{ added: "+", removed: "-", same: " " }[kind]}${text}`),
  ]);

test("all lines of a new file are added", () => {
  expect(draw("", "a\nb\n")).toEqual(["+a", "+b"]);
});

test("a changed line has two lines of context", () => {
  expect(draw("1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\nfour\n5\n6\n7\n")).toEqual([" 2", " 3", "-4", "+four", " 5", " 6"]);
});

test("distant changes have a gap between them", () => {
  const before = Array.from({ length: 20 }, (_line, i) => `${i}`).join("\n");
  expect(draw(before, before.replace(/^0\n/, "zero\n").replace(/19$/, "last"))).toEqual([
    "-0",
    "+zero",
    " 1",
    " 2",
    "~",
    " 17",
    " 18",
    "-19",
    "+last",
  ]);
});

test("unchanged lines between changes are recognised", () => {
  expect(draw("a\nx\nb\n", "a2\nx\nb2\n")).toEqual(["-a", "+a2", " x", "-b", "+b2"]);
});

test("equal texts have no changes", () => {
  expect(countLines(hunksOf("a\n", "a\n"))).toEqual({ added: 0, removed: 0 });
});

test("replacing the later lines of every hunk by the earlier ones gives the earlier text", () => {
  const text = fc.array(fc.constantFrom("a", "b", "", "longer", "c", "d"), { maxLength: 30 }).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = splitLines(after);
      for (const hunk of hunksOf(before, after).toReversed()) lines.splice(hunk.start, linesAfter(hunk).length, ...linesBefore(hunk));
      expect(lines).toEqual(splitLines(before));
    }),
  );
});
