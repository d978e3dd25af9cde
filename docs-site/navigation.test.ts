import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { NAVIGATION } from "./navigation.ts";
import { INDEX, isListed, readSources, ROOT } from "./sources.ts";

const listed = NAVIGATION.flatMap(({ entries }) => entries.map(({ file }) => file));

test("every page but decisions and measurements is in the navigation, once, and every entry is a file", () => {
  const pages = readSources().filter(isListed);
  expect(listed.toSorted()).toEqual(pages.map(({ file }) => file).toSorted());
  expect(listed.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

test("the list of pages for a code host has every guide", () => {
  const index = readFileSync(join(ROOT, INDEX), "utf8");
  const guides = listed.filter((file) => file.startsWith("docs/")).map((file) => file.slice("docs/".length));
  expect(guides.filter((guide) => !index.includes(`(${guide})`))).toEqual([]);
});

test("no two pages have the same address", () => {
  const urls = readSources().map(({ url }) => url);
  expect(urls.filter((url, index) => urls.indexOf(url) !== index)).toEqual([]);
});
