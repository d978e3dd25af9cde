import { expect, test } from "vitest";
import { orderFiles } from "./order-files.ts";

test("without a query, recent files come first and the file on screen is not the first of them", () => {
  const files = { query: "", found: ["a.ts", "b.ts", "c.ts"], isAnswered: true, recent: ["c.ts", "b.ts"], shown: "c.ts" };
  expect(orderFiles(files)).toEqual(["b.ts", "c.ts", "a.ts"]);
});

test("recent files that match the query come first", () => {
  const files = { query: "ts", found: ["a.ts", "b.ts", "c.ts"], isAnswered: true, recent: ["c.ts", "gone.ts", "x.md"], shown: null };
  expect(orderFiles(files)).toEqual(["c.ts", "a.ts", "b.ts"]);
});

test("until the search answers, matching recent files and matches of the last search are listed", () => {
  const files = { query: "ab", found: ["xab.ts", "b.ts"], isAnswered: false, recent: ["c.ts", "ab.ts"], shown: null };
  expect(orderFiles(files)).toEqual(["ab.ts", "xab.ts"]);
});
