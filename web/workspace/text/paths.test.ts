import { expect, test } from "vitest";
import { extensionOf, formatBytes, isWithin, joinPath, movedPath, nameError, nameOf, parentOf } from "./paths.ts";

test("a path splits into folder and name", () => {
  expect([parentOf("a/b/c.txt"), nameOf("a/b/c.txt")]).toEqual(["a/b", "c.txt"]);
  expect([parentOf("c.txt"), nameOf("c.txt")]).toEqual(["", "c.txt"]);
  expect(joinPath("", "c.txt")).toBe("c.txt");
});

test("a folder contains itself and its descendants, not siblings with the same prefix", () => {
  expect(isWithin("a/b", "a")).toBe(true);
  expect(isWithin("ab", "a")).toBe(false);
  expect(isWithin("anything", "")).toBe(true);
});

test("moving a folder moves the paths inside it", () => {
  expect(movedPath("a/b/c", "a/b", "x")).toBe("x/c");
  expect(movedPath("a", "a", "x/a")).toBe("x/a");
});

test("an invalid name gets an explanation", () => {
  expect(nameError("notes/today.md")).toBeNull();
  expect(nameError(" ")).toBe("Enter a name");
  expect(nameError("../up")).toBe('A path cannot contain empty, "." or ".." parts');
});

test("an extension is lower case and has no dot", () => {
  expect([extensionOf("A.PNG"), extensionOf("Makefile"), extensionOf("a.b/c")]).toEqual(["png", "", ""]);
});

test("sizes use the unit a person would choose", () => {
  expect([0, 1023, 1536, 20 * 1024 * 1024].map(formatBytes)).toEqual(["0 B", "1023 B", "1.5 kB", "20 MB"]);
});
