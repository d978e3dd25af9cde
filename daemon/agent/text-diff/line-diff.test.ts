import * as fc from "fast-check";
import { expect, test } from "vitest";
import { diffLines } from "./line-diff.ts";

const draw = (before: string, after: string) =>
  diffLines(before.split(""), after.split("")).map(
    (range) => `${range.before[0]} -${before.slice(...range.before)} +${after.slice(...range.after)}`,
  );

test("lines that both texts have are recognised", () => {
  expect(draw("abc", "abc")).toEqual([]);
  expect(draw("", "ab")).toEqual(["0 - +ab"]);
  expect(draw("ab", "")).toEqual(["0 -ab +"]);
  expect(draw("axb", "Axa")).toEqual(["0 -a +A", "2 -b +a"]);
  expect(draw("fghb", "fbghb")).toEqual(["1 - +b"]);
  // Without a line that is unique in both texts.
  expect(draw("aabb", "abab")).toHaveLength(2);
});

test("replacing the ranges gives the other text, and the lines between them are equal", () => {
  const text = fc.array(fc.constantFrom("a", "b", "", "longer", "c", "d", "e", "f", "g"), { maxLength: 40 });
  fc.assert(
    fc.property(text, text, (before, after) => {
      const result: string[] = [];
      let [b, a] = [0, 0];
      for (const range of diffLines(before, after)) {
        expect(before.slice(b, range.before[0])).toEqual(after.slice(a, range.after[0]));
        expect(range.before[1] - range.before[0] + range.after[1] - range.after[0]).toBeGreaterThan(0);
        result.push(...before.slice(b, range.before[0]), ...after.slice(...range.after));
        [b, a] = [range.before[1], range.after[1]];
      }
      expect([...result, ...before.slice(b)]).toEqual(after);
    }),
  );
});

test("very different texts take bounded time", () => {
  const lines = (seed: number) => Array.from({ length: 100_000 }, (_line, index) => String((index * seed) % 7));
  const startMs = performance.now();
  expect(diffLines(lines(3), lines(5)).length).toBeGreaterThan(0);
  expect(performance.now() - startMs).toBeLessThan(5000);
});
