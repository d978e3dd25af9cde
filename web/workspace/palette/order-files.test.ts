import { expect, test } from "vitest";
import { orderFiles } from "./order-files.ts";

test("without a query, recent files come first and the file on screen is not the first of them", () => {
  expect(orderFiles("", ["a.ts", "b.ts", "c.ts"], ["c.ts", "b.ts"], "c.ts")).toEqual(["b.ts", "c.ts", "a.ts"]);
});

test("recent files that match the query come first", () => {
  expect(orderFiles("ts", ["a.ts", "b.ts", "c.ts"], ["c.ts", "gone.ts", "x.md"], null)).toEqual(["c.ts", "a.ts", "b.ts"]);
});
