import { expect, test } from "vitest";
import { describeModelWait } from "./model-wait.ts";

test("a wait says why, and which attempt is next", () => {
  expect(describeModelWait({ code: "model_rate_limited", attempt: 2, attempts: 5 })).toBe(
    "The model's provider limits the number of requests. Retrying, 2 of 5.",
  );
  expect(describeModelWait({ code: "new_code", attempt: 5, attempts: 5 })).toBe("The model refused the request. Retrying, 5 of 5.");
  expect(describeModelWait({ code: "model_slow" })).toBe("The model has not answered yet. You can wait, or stop the agent.");
});
