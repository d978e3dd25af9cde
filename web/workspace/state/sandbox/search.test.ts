import { expect, test } from "vitest";
import type { SearchEvent } from "@berth/contract/daemon.ts";
import type { SearchQuery } from "../../connection/api.ts";
import { createSearch } from "./search.ts";

const match = (path: string, line: number): SearchEvent => ({ type: "match", path, line, column: 1, length: 1, text: "x" });
const done: SearchEvent = { type: "done", matches: 2, files: 2, truncated: false, engine: "ripgrep" };

function searchIn(answer: (query: SearchQuery) => SearchEvent[]) {
  const queries: SearchQuery[] = [];
  const api = {
    async *search(query: SearchQuery) {
      queries.push(query);
      yield* answer(query);
    },
  };
  const search = createSearch(api, 0);
  return { search, queries, state: () => search.store.getState() };
}

test("a search limits the matches of each file, and reads the rest of a file on request", async () => {
  const { search, queries, state } = searchIn(({ file }) =>
    file === undefined
      ? [match("a.csv", 1), { type: "more", path: "a.csv" }, match("b.ts", 1), done]
      : [match("a.csv", 1), match("a.csv", 2), done],
  );
  search.edit({ text: "x" });
  await expect.poll(() => state().summary).toBe("2 matches in 2 files");
  expect(queries[0]?.fileLimit).toBeLessThan(queries[0]?.limit ?? 0);
  expect(state().files.map(({ path, more }) => [path, more])).toEqual([
    ["a.csv", true],
    ["b.ts", false],
  ]);
  await search.loadMore("a.csv");
  expect(queries[1]).toMatchObject({ text: "x", file: "a.csv" });
  expect(state().files.map(({ matches, more }) => [matches.length, more])).toEqual([
    [2, false],
    [1, false],
  ]);
});

test("a new query replaces the one before, and an empty one clears the results", async () => {
  const { search, queries, state } = searchIn(() => [match("a.ts", 1), done]);
  search.edit({ text: "o" });
  search.edit({ text: "one" });
  await expect.poll(() => state().files.length).toBe(1);
  expect(queries.map(({ text }) => text)).toEqual(["one"]);
  search.edit({ text: "" });
  expect(state()).toMatchObject({ files: [], summary: "" });
});

test("a search that cannot run says why", async () => {
  const { search, state } = searchIn(() => [
    { type: "failed", message: "not supported: look-around" },
    { ...done, matches: 0 },
  ]);
  search.edit({ text: "a(?=b)", regex: true });
  await expect.poll(() => state().error).toBe("not supported: look-around");
});
