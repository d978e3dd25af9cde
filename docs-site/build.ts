import Eleventy from "@11ty/eleventy";
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { assetAddress, bundleAssets } from "./assets.ts";
import { createMarkdown, type Markdown } from "./markdown.ts";
import { navigationOf, neighboursOf, releasesOf } from "./menus.ts";
import { operationSections } from "./operations.ts";
import { outlineOf, type Section } from "./outline.ts";
import { createLinks, readSources, ROOT, type Source } from "./sources.ts";

const DIST = join(ROOT, "docs-site/dist");
// Takes the place of the last build when it is complete, because a running server may be reading that.
const OUT = join(ROOT, "docs-site/dist.new");

// Builds the documentation at /docs from the Markdown of the repository, with Eleventy. Nothing in it comes from another host.
export async function buildDocs(): Promise<void> {
  const sources = readSources();
  const markdown = createMarkdown(createLinks(sources));
  const outlines = new Map(sources.map((source) => [source, outlineOf(markdown, source)]));
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(join(OUT, "assets"), { recursive: true });
  const assets = {
    ...(await bundleAssets(join(OUT, "assets"))),
    search: writeSearchData([...[...outlines.values()].flatMap(({ sections }) => sections), ...operationSections()]),
  };
  const version = readVersion();
  const releases = releasesOf(sources);
  const shared = {
    assets,
    version,
    releases,
    navigation: navigationOf(sources),
    // A version that is not released yet has its notes at the top.
    notes: (releases.find(({ name }) => name.includes(version)) ?? releases[0])?.url,
    upgrade: sources.find(({ file }) => file === "docs/upgrade.md")?.url,
    decisions: sources.filter(({ file }) => file.startsWith("docs/decisions/")),
  };
  const pages = sources.map((source) => ({
    source,
    data: {
      layout: "page.njk",
      permalink: `${source.url.slice("/docs/".length)}.html`,
      title: source.title,
      url: source.url,
      file: source.file,
      headings: outlines.get(source)!.headings.filter(({ level }) => level <= 3),
      ...neighboursOf(source, sources),
    },
  }));
  await renderPages(markdown, shared, pages);
  for (const [url, path] of markdown.images) copyFileSync(path, join(OUT, "assets", basename(url)));
  rmSync(DIST, { recursive: true, force: true });
  renameSync(OUT, DIST);
}

async function renderPages(
  { parser }: Markdown,
  shared: Record<string, unknown>,
  pages: { source: Source; data: Record<string, unknown> }[],
): Promise<void> {
  const here = (path: string) => relative(process.cwd(), path);
  const eleventy = new Eleventy(here(join(ROOT, "docs-site/pages")), here(OUT), {
    quietMode: true,
    configPath: null,
    config(config) {
      config.setUseGitIgnore(false);
      config.setLibrary("md", parser);
      for (const [name, value] of Object.entries(shared)) config.addGlobalData(name, value);
      for (const { source, data } of pages) config.addTemplate(`docs-site/pages/${source.file}`, source.text, data);
      // Braces in our Markdown are no templates.
      return { markdownTemplateEngine: false };
    },
  });
  eleventy.disableLogger();
  await eleventy.write();
}

// The browser loads it when the reader begins to search.
function writeSearchData(sections: readonly Section[]): string {
  const text = JSON.stringify(sections);
  const address = assetAddress("search.json", text);
  writeFileSync(join(OUT, "assets", basename(address)), text);
  return address;
}

function readVersion(): string {
  return (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string }).version;
}
