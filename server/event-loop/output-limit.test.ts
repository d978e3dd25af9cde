import { expect, test } from "vitest";
import { createRecentHolders } from "../fairness/recent-holders.ts";
import { createOutputLimit } from "./output-limit.ts";

const MIB = 1024 * 1024;

test("a holder that sends without end is limited to its rate, whatever the number of its connections", () => {
  let nowMs = 0;
  const limit = createOutputLimit({ mibPerSecond: 1, nowMs: () => nowMs });
  let sentBytes = 0;
  const resumesAt = [0, 0, 0, 0];
  for (nowMs = 1; nowMs <= 10_000; nowMs++)
    for (const [connection, resumeMs] of resumesAt.entries()) {
      if (resumeMs > nowMs) continue;
      sentBytes += 65_536;
      resumesAt[connection] = nowMs + limit.count("greedy", 65_536);
    }
  expect(sentBytes).toBeGreaterThan(8 * MIB);
  expect(sentBytes).toBeLessThan(11 * MIB);
});

test("a short output is never delayed, and one holder's output does not delay another's", () => {
  let nowMs = 1_000;
  const limit = createOutputLimit({ mibPerSecond: 1, nowMs: () => nowMs });
  expect(limit.count("greedy", 100_000)).toBe(0);
  expect(limit.count("greedy", 100_000)).toBeGreaterThan(0);
  expect(limit.count("other", 100_000)).toBe(0);
  nowMs += 1_000;
  expect(limit.count("greedy", 100_000)).toBe(0);
});

test("a holder gets the lower rate while others send, on any of the limits, and the higher one when it is alone again", () => {
  let nowMs = 60_000;
  const holders = createRecentHolders();
  const options = { mibPerSecond: 4, shared: { mibPerSecond: 1, holders }, nowMs: () => nowMs };
  const [terminals, responses] = [createOutputLimit(options), createOutputLimit(options)];
  // Waits until a holder may send again after much output.
  const waitOf = (holder: string) => {
    nowMs += 5_000;
    return Math.round(terminals.count(holder, 4 * MIB) / 100) * 100;
  };
  expect(waitOf("greedy")).toBe(900);
  expect(waitOf("greedy")).toBe(900);
  expect(responses.count("other", 1)).toBe(0);
  expect(waitOf("greedy")).toBe(3_900);
  expect(responses.count("third", 1)).toBe(0);
  expect(waitOf("greedy")).toBe(3_900);
  nowMs += 10_000;
  expect(waitOf("greedy")).toBe(900);
});
