import { expect, test } from "vitest";
import { firstOf } from "./outbox.ts";

const entry = (length: number) => ({ id: "0".repeat(24), type: "run.finished" as const, at: "", data: { text: "x".repeat(length) } });

test("a response of the outbox is short enough for the server, and has at least one entry", () => {
  expect(firstOf([])).toEqual([]);
  expect(firstOf(Array(40).fill(entry(10)))).toHaveLength(32);
  expect(firstOf(Array(40).fill(entry(100_000)))).toHaveLength(2);
  expect(firstOf([entry(1_000_000), entry(10)])).toHaveLength(1);
  expect(firstOf([entry(10), entry(1_000_000)])).toHaveLength(1);
});
