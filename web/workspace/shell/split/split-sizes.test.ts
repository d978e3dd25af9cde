import { expect, test } from "vitest";
import { moveSeparator } from "./split-sizes.ts";

const panels = [
  { id: "side", minPx: 170 },
  { id: "main", minPx: 260 },
  { id: "agent", minPx: 280 },
];
const sizes = { side: 260, main: 600, agent: 380 };

test("a separator gives one panel what it takes from its neighbour", () => {
  expect(moveSeparator({ panels, index: 1 }, sizes, 40)).toEqual({ side: 300, main: 560, agent: 380 });
  expect(moveSeparator({ panels, index: 2 }, sizes, 40)).toEqual({ side: 260, main: 640, agent: 340 });
});

test("no panel becomes smaller than its minimum", () => {
  expect(moveSeparator({ panels, index: 1 }, sizes, -500)).toEqual({ side: 170, main: 690, agent: 380 });
  expect(moveSeparator({ panels, index: 1 }, sizes, Infinity)).toEqual({ side: 600, main: 260, agent: 380 });
});
