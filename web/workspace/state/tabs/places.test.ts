import { expect, test } from "vitest";
import { step, visit, type Places } from "./places.ts";

const at = (path: string, line: number) => ({ path, line, column: 1 });
const none: Places = { all: [], at: -1 };
const present = (places: Places | null) => places?.all[places.at];

test("back and forward go through the places, and a place elsewhere ends the way forward", () => {
  const visited = [at("a.ts", 1), at("b.ts", 5), at("b.ts", 90)].reduce((places, place) => visit(places, place), none);
  expect(step(visited, 1, "b.ts")).toBeNull();
  const second = step(visited, -1, "b.ts")!;
  expect(present(second)).toEqual(at("b.ts", 5));
  const first = step(second, -1, "b.ts")!;
  expect(present(first)).toEqual(at("a.ts", 1));
  expect(step(first, -1, "a.ts")).toBeNull();
  expect(present(step(first, 1, "a.ts"))).toEqual(at("b.ts", 5));
  const elsewhere = visit(second, at("c.ts", 1));
  expect(step(elsewhere, 1, "c.ts")).toBeNull();
  expect(present(step(elsewhere, -1, "c.ts"))).toEqual(at("b.ts", 5));
});

test("a few lines are a step only for a jump, and only the last places are kept", () => {
  const first = visit(none, at("a.ts", 1));
  expect(visit(first, at("a.ts", 8))).toEqual({ all: [at("a.ts", 8)], at: 0 });
  expect(visit(first, at("a.ts", 8), "jumped")).toEqual({ all: [at("a.ts", 1), at("a.ts", 8)], at: 1 });
  let visited = none;
  for (let line = 0; line < 2000; line += 20) visited = visit(visited, at("a.ts", line));
  expect(visited.all).toHaveLength(50);
  expect(present(visited)).toEqual(at("a.ts", 1980));
});

test("back from a tab without a text is the place before it", () => {
  expect(present(step(visit(none, at("a.ts", 3)), -1, null))).toEqual(at("a.ts", 3));
});
