import { expect, test } from "vitest";
import { createMarkdown } from "./markdown.ts";
import { createLinks, readSources } from "./sources.ts";

const { parser, images } = createMarkdown(createLinks(readSources()));
const render = (text: string, file = "docs/api.md") => parser.render(text, { file });
const fence = (language: string, code = "x") => `\`\`\`${language}\n${code}\n\`\`\`\n`;
const tabsIn = (html: string) => [...html.matchAll(/role="tab" [^>]*>([^<]+)</g)].map(([, name]) => name);

test("blocks in TypeScript, Python and bash that follow each other are tabs, and the first is shown", () => {
  const html = render(`${fence("ts")}\n${fence("python")}\n${fence("bash")}`);
  expect(tabsIn(html)).toEqual(["TypeScript", "Python", "curl"]);
  expect(
    [...html.matchAll(/role="tabpanel" id="([\w-]+)"[^>]*?( hidden="")?>/g)].map(([, id, hidden]) => [id, hidden !== undefined]),
  ).toEqual([
    ["panel-1-ts", false],
    ["panel-1-python", true],
    ["panel-1-bash", true],
  ]);
});

test("a text between blocks, a language that repeats and other languages make no tabs", () => {
  expect(tabsIn(render(`${fence("ts")}\nand\n\n${fence("python")}`))).toEqual([]);
  expect(tabsIn(render(`${fence("sh")}\n${fence("json")}`))).toEqual([]);
  expect(tabsIn(render(`${fence("ts")}\n${fence("ts")}\n${fence("bash")}`))).toEqual(["TypeScript", "curl"]);
});

test("a link to a document leads to its page, and a file that is not a page is named without a link", () => {
  expect(render("[x](errors.md#codes)")).toContain('<a href="/docs/errors#codes">x</a>');
  expect(render("[x](../client/README.md)")).toContain('href="/docs/clients/typescript"');
  expect(render("[x](docs/api.md) [y](docs/)", "README.md")).toContain('<a href="/docs/partner-api">x</a> <a href="/docs">y</a>');
  expect(render("[x](../package.json)")).toContain('<span class="file" title="In the repository: package.json">x</span>');
  expect(render("[x](https://example.com)")).toContain('<a href="https://example.com" rel="noreferrer">x</a>');
});

test("an image gets an address that names its content", () => {
  expect(render("![x](images/parts.svg)")).toMatch(/src="\/docs\/assets\/parts-[\da-f]{8}\.svg"/);
  expect([...images.values()]).toEqual([expect.stringMatching(/docs\/images\/parts\.svg$/)]);
});

test("raw HTML is text, and code is escaped", () => {
  const html = render(`<script>alert(1)</script>\n\n\`<b>\`\n\n${fence("ts", "const a = '<script>';")}${fence("other", "<b>")}`);
  expect(html).not.toMatch(/<script|<b>/);
});

test("a heading has GitHub's anchor", () => {
  expect(render("## The `berth` command, & more\n\n## Errors\n\n## Errors")).toMatch(
    /<h2 id="the-berth-command--more">[^]*<h2 id="errors">[^]*<h2 id="errors-1">/,
  );
});
