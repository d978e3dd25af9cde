import { expect, test } from "vitest";
import { formatAge } from "./age.ts";

test("an age is given in its largest unit", () => {
  const hour = 3_600_000;
  expect([0, 59_000, 60_000, hour, 25 * hour, 24 * hour * 65, 24 * hour * 800].map(formatAge)).toEqual([
    "just now",
    "just now",
    "1 minute ago",
    "1 hour ago",
    "1 day ago",
    "2 months ago",
    "2 years ago",
  ]);
});
