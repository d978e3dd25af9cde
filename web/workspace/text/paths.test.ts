import { expect, test } from "vitest";
import { extensionOf, formatBytes, isWithin, joinPath, movedPath, nameFault, nameOf, parentOf } from "./paths.ts";

test("a path splits into its folder and its name", () => {
  expect([parentOf("a/b/c.txt"), nameOf("a/b/c.txt")]).toEqual(["a/b", "c.txt"]);
  expect([parentOf("c.txt"), nameOf("c.txt")]).toEqual(["", "c.txt"]);
  expect(joinPath("", "c.txt")).toBe("c.txt");
});

test("a folder contains itself and what is below it, not what merely begins alike", () => {
  expect(isWithin("a/b", "a")).toBe(true);
  expect(isWithin("ab", "a")).toBe(false);
  expect(isWithin("anything", "")).toBe(true);
});

test("a move carries what is inside along", () => {
  expect(movedPath("a/b/c", "a/b", "x")).toBe("x/c");
  expect(movedPath("a", "a", "x/a")).toBe("x/a");
});

test("names that no file can have are told why", () => {
  expect(nameFault("notes/today.md")).toBeNull();
  expect(nameFault(" ")).toBe("A name is needed");
  expect(nameFault("../up")).toBe("A part of this path is empty");
});

test("an extension is lower case and without the dot", () => {
  expect([extensionOf("A.PNG"), extensionOf("Makefile"), extensionOf("a.b/c")]).toEqual(["png", "", ""]);
});

test("sizes are told in the unit a person would use", () => {
  expect([0, 1023, 1536, 20 * 1024 * 1024].map(formatBytes)).toEqual(["0 B", "1023 B", "1.5 kB", "20 MB"]);
});
