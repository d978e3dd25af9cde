import { expect, test } from "vitest";
import { createPlaces, noPlaces, visit } from "./places.ts";

const at = (path: string, line: number) => ({ path, line, column: 1 });

test("back and forward go through the places, and a place elsewhere ends the way forward", () => {
  const places = createPlaces();
  for (const place of [at("a.ts", 1), at("b.ts", 5), at("b.ts", 90)]) places.visit(place, "moved");
  expect(places.step(1, "b.ts")).toBeNull();
  expect(places.step(-1, "b.ts")).toEqual(at("b.ts", 5));
  expect(places.step(-1, "b.ts")).toEqual(at("a.ts", 1));
  expect(places.step(-1, "a.ts")).toBeNull();
  expect(places.step(1, "a.ts")).toEqual(at("b.ts", 5));
  places.visit(at("c.ts", 1), "moved");
  expect(places.step(1, "c.ts")).toBeNull();
  expect(places.step(-1, "c.ts")).toEqual(at("b.ts", 5));
});

test("a few lines are a step only for a jump, and only the last places are kept", () => {
  const first = visit(noPlaces, at("a.ts", 1));
  expect(visit(first, at("a.ts", 8))).toEqual({ all: [at("a.ts", 8)], at: 0 });
  expect(visit(first, at("a.ts", 8), "jumped")).toEqual({ all: [at("a.ts", 1), at("a.ts", 8)], at: 1 });
  let visited = noPlaces;
  for (let line = 0; line < 2000; line += 20) visited = visit(visited, at("a.ts", line));
  expect(visited.all).toHaveLength(50);
  expect(visited.all[visited.at]).toEqual(at("a.ts", 1980));
});

test("back from a tab without a text is the place before it, and places follow a renamed folder", () => {
  const places = createPlaces();
  places.visit(at("src/a.ts", 3), "moved");
  expect(places.step(-1, null)).toEqual(at("src/a.ts", 3));
  places.visit(at("b.ts", 1), "moved");
  places.renamePath("src", "lib");
  expect(places.step(-1, "b.ts")).toEqual(at("lib/a.ts", 3));
});
