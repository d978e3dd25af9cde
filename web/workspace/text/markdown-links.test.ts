import { expect, test } from "vitest";
import { findHeading, isRelativeLink, resolveLink } from "./markdown-links.ts";

test.each([
  ["README.md", "docs/a.md", { path: "docs/a.md", anchor: null }],
  ["docs/a.md", "b.md#part", { path: "docs/b.md", anchor: "part" }],
  ["docs/a.md", "./img/x%20y.png?raw=true", { path: "docs/img/x y.png", anchor: null }],
  ["docs/a.md", "../src/main.ts", { path: "src/main.ts", anchor: null }],
  ["docs/a.md", "../../../etc/passwd", { path: "etc/passwd", anchor: null }],
  ["docs/a.md", "/src/", { path: "src", anchor: null }],
  ["docs/a.md", "#caf%C3%A9", { path: null, anchor: "café" }],
  ["docs/a.md", "100%.md", { path: "docs/100%.md", anchor: null }],
])("in %s, %s leads to the right place", (from, href, target) => expect(resolveLink(from, href)).toEqual(target));

test("links to other hosts and with other schemes are not relative", () => {
  const links = ["a.md", "#a", "/a", "https://example.com", "mailto:a@b.c", "//example.com", "javascript:alert(1)"];
  expect(links.filter(isRelativeLink)).toEqual(["a.md", "#a", "/a"]);
});

test("anchors name headings as on GitHub", () => {
  const headings = ["Getting started", "C++ & you", "Getting started", "Über_uns"];
  const anchors = ["getting-started", "c--you", "getting-started-1", "über_uns", "Getting-Started", "missing"];
  expect(anchors.map((anchor) => findHeading(headings, anchor))).toEqual([0, 1, 2, 3, 0, -1]);
});
