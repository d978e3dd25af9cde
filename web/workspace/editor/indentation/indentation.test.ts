import { expect, test } from "vitest";
import { defaultIndentation, detectIndentation } from "./indentation.ts";

test("a new file is indented as its language is", () => {
  const units = ["a.py", "main.go", "Makefile", "src/lib.rs", "a.ts", "b.json", "notes"].map((path) => defaultIndentation(path).unit);
  expect(units).toEqual(["    ", "\t", "\t", "    ", "  ", "  ", "  "]);
});

test("the indentation of a text is its most frequent step", () => {
  const unit = (text: string) => detectIndentation(text)?.unit;
  expect(unit("def f():\n    if x:\n        return 1\n")).toBe("    ");
  expect(unit("a {\n  b {\n    c;\n  }\n}\n")).toBe("  ");
  expect(unit("all:\n\techo a\n\techo b\n")).toBe("\t");
  expect(unit("/*\n * a comment\n */\nif (x) {\n   y();\n}\n")).toBe("   ");
  expect(unit("f(a,\n        b)\nif x:\n    y\nif z:\n    w\n")).toBe("    ");
  expect(unit("nothing\nis indented\n")).toBeUndefined();
});
