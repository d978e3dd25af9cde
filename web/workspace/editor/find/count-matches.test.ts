import { SearchQuery } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";
import { countMatches, formatCount, type MatchCount } from "./count-matches.ts";

function count(text: string, query: ConstructorParameters<typeof SearchQuery>[0]): MatchCount & { steps: number } {
  const counting = countMatches(new SearchQuery(query), EditorState.create({ doc: text }));
  for (let steps = 1; ; steps++) {
    const { done, value } = counting.next();
    if (done === true) return { ...value, steps };
  }
}

test("the selected match has a number", () => {
  const found = count("a b a b a", { search: "a" });
  expect(formatCount(found, { from: 4, to: 5 })).toBe("2 of 3");
  expect(formatCount(found, { from: 0, to: 0 })).toBe("3 results");
  expect(formatCount(count("a", { search: "a" }), { from: 1, to: 1 })).toBe("1 result");
  expect(formatCount(count("a", { search: "b" }), { from: 0, to: 0 })).toBe("No results");
});

test("counting stops at a thousand", () => {
  const found = count("needle\n".repeat(50_000), { search: "needle" });
  expect(found.matches.length).toBe(1000);
  expect(formatCount(found, { from: 7, to: 13 })).toBe("2 of 1,000+");
  expect(formatCount(found, { from: 0, to: 0 })).toBe("1,000+ results");
});

test("a large text is counted in steps, and a match between two steps is counted once", () => {
  const text = `${"x".repeat(99_997)}needle${"x".repeat(100_000)}needle${"\nneedle".repeat(3)}`;
  for (const query of [{ search: "needle" }, { search: "ne+dle", regexp: true }]) {
    const found = count(text, query);
    expect(found.matches.length).toBe(5);
    expect(new Set(found.matches.map(({ from }) => from)).size).toBe(5);
  }
  expect(count(text, { search: "needle" }).steps).toBeGreaterThan(1);
});

test("an expression may span lines", () => {
  const text = `${"line\n".repeat(30_000)}end`;
  expect(count(text, { search: "line\\nend", regexp: true }).matches).toEqual([{ from: text.length - 8, to: text.length }]);
});
