import { expect, test } from "vitest";
import { describeUsage } from "./usage.ts";

test("usage is one short line with what the agent reports", () => {
  expect(describeUsage(null)).toBe("");
  expect(describeUsage({ contextUsed: 12_000, contextSize: 128_000 })).toBe("12.0k tokens · 9% of context");
  expect(describeUsage({ contextUsed: 150, contextSize: 128_000 })).toBe("150 tokens · <1% of context");
  expect(describeUsage({ inputTokens: 800, outputTokens: 150, cost: { amount: 0.034, currency: "USD" } })).toBe("950 tokens · 0.03 USD");
});
