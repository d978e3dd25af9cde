import * as fc from "fast-check";
import { expect, test } from "vitest";
import { countLines, shortDiff } from "./short-diff.ts";

const draw = (before: string, after: string) =>
  shortDiff(before, after).map(({ kind, text }) => `${{ added: "+", removed: "-", same: " ", gap: "~" }[kind]}${text}`);

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
  expect(countLines(shortDiff("a\n", "a\n"))).toEqual({ added: 0, removed: 0 });
});

test("the lines of both texts can be read from a diff without gaps", () => {
  const text = fc.array(fc.constantFrom("a", "b", "", "longer"), { minLength: 1, maxLength: 6 }).map((lines) => `${lines.join("\n")}\n`);
  const read = (before: string, after: string, kind: "removed" | "added") =>
    shortDiff(before, after)
      .filter((line) => line.kind === kind || line.kind === "same")
      .map((line) => `${line.text}\n`)
      .join("");
  fc.assert(
    fc.property(text, text, (before, after) => {
      fc.pre(before !== after && shortDiff(before, after).every(({ kind }) => kind !== "gap"));
      // Unchanged lines at the start and end may be cut off.
      expect(before).toContain(read(before, after, "removed"));
      expect(after).toContain(read(before, after, "added"));
    }),
  );
});
