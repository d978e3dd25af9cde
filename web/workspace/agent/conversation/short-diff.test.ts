import { expect, test } from "vitest";
import { countLines, shortDiff } from "./short-diff.ts";

const draw = (before: string, after: string) =>
  shortDiff(before, after).map(({ kind, text }) => `${{ added: "+", removed: "-", same: " ", gap: "~" }[kind]}${text}`);

test("a new file is all added", () => {
  expect(draw("", "a\nb\n")).toEqual(["+a", "+b"]);
});

test("a changed line is shown with two lines around it", () => {
  expect(draw("1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\nfour\n5\n6\n7\n")).toEqual([" 2", " 3", "-4", "+four", " 5", " 6"]);
});

test("far apart changes have a gap between them", () => {
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

test("lines that stayed between changed ones are recognised", () => {
  expect(draw("a\nx\nb\n", "a2\nx\nb2\n")).toEqual(["-a", "+a2", " x", "-b", "+b2"]);
});

test("equal texts have nothing to show", () => {
  expect(countLines(shortDiff("a\n", "a\n"))).toEqual({ added: 0, removed: 0 });
});
