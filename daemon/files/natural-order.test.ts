import { expect, test } from "vitest";
import { sortNaturally } from "./natural-order.ts";

const sorted = (...names: string[]) => sortNaturally(names, (name) => name);

test("numbers in names sort by their value", () => {
  expect(sorted("file10.txt", "file9.txt", "file1.txt", "v1.10", "v1.9")).toEqual([
    "file1.txt",
    "file9.txt",
    "file10.txt",
    "v1.9",
    "v1.10",
  ]);
});

test("case and accents make no difference, except between names that are otherwise equal", () => {
  expect(sorted("zoo", "Makefile", "éclair", "app", "README", "a", "A")).toEqual(["A", "a", "app", "éclair", "Makefile", "README", "zoo"]);
});
