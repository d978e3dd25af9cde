import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readSources, ROOT } from "./sources.ts";

// The documentation as set-up built it. The reference of the API is complete only on a server, so its anchors are checked there
// (docs-routes.test.ts), but for the operations that search finds.
const out = join(ROOT, "docs-site/dist");
const files = new Set(globSync("**/*.*", { cwd: out }));
const pages = new Map(
  [...files].filter((file) => file.endsWith(".html")).map((file) => [addressOf(file), readFileSync(join(out, file), "utf8")]),
);
const anchors = new Map([...pages].map(([url, html]) => [url, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!))]));

test("every page is built; if not, run `node scripts/build.ts docs`", () => {
  expect(
    readSources()
      .map(({ url }) => url)
      .filter((url) => !pages.has(url)),
  ).toEqual([]);
});

test("every link of a page leads to a page and an anchor that exist, and every image and script to a file", () => {
  const broken = [...pages].flatMap(([url, html]) =>
    [...html.matchAll(/ (?:href|src|data-sections)="([^"]+)"/g)]
      .map(([, link]) => link!)
      .filter((link) => !/^(https?|mailto):/.test(link) && !leadsSomewhere(url, link))
      .map((link) => `${url}: ${link}`),
  );
  expect(broken).toEqual([]);
});

test("search finds sections that exist, of every page", () => {
  const data = [...files].find((file) => /^assets\/search-\w+\.json$/.test(file))!;
  const sections = JSON.parse(readFileSync(join(out, data), "utf8")) as { url: string }[];
  expect(sections.map(({ url }) => url).filter((url) => !url.startsWith("/docs/api#") && !leadsSomewhere("", url))).toEqual([]);
  const found = new Set(sections.map(({ url }) => url.split("#")[0]));
  expect(readSources().filter(({ url }) => !found.has(url))).toEqual([]);
});

test("no page has an inline script or style, or loads anything from another host", () => {
  const INLINE = /<style|<[a-z][^>]* (style|on\w+)="|<script(?![^>]* src="\/docs\/assets\/)/;
  const FOREIGN = /<(script|img|link|iframe)[^>]* (src|href)="(?!\/docs\/)/;
  expect([...pages].filter(([, html]) => INLINE.test(html) || FOREIGN.test(html)).map(([url]) => url)).toEqual([]);
});

function leadsSomewhere(from: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  if (path.startsWith("/docs/assets/")) return files.has(path.slice("/docs/".length));
  const found = anchors.get(path === "" ? from : path);
  return found !== undefined && (anchor === undefined || found.has(decodeURIComponent(anchor)));
}

function addressOf(file: string): string {
  return file === "index.html" ? "/docs" : `/docs/${file.replace(/\.html$/, "")}`;
}
