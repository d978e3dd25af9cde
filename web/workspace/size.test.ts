import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

// The page that the server serves. `npm test` builds it first.
const outDir = join(import.meta.dirname, "../dist");

// The files that load before anything is shown. The page also preloads lazy chunks, which do not count.
async function initialFiles(): Promise<string[]> {
  const html = await readFile(join(outDir, "index.html"), "utf8");
  return [...html.matchAll(/<(?:script|link)[^>]*(?:src|href)="\/workspace\/(assets\/[^"]+\.(?:js|css))"/g)]
    .filter(([tag]) => !tag.includes('data-part="lazy"'))
    .map(([, path]) => path ?? "");
}

const gzippedBytes = async (path: string) => gzipSync(await readFile(join(outDir, path)), { level: 9 }).byteLength;

test("the shell is at most 120 kB gzipped", async () => {
  const sizes = await Promise.all((await initialFiles()).map(gzippedBytes));
  expect(sizes.length).toBeGreaterThan(1);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(120_000);
});

test("editor, terminal and Markdown renderer are not in the shell", async () => {
  const initial = await initialFiles();
  const all = await readdir(join(outDir, "assets"));
  for (const part of ["text-editor", "terminal-view", "agent-panel", "diff-view", "markdown", "find-widget"]) {
    expect(all.some((name) => name.startsWith(part))).toBe(true);
    expect(initial.filter((name) => name.includes(part))).toEqual([]);
  }
});

test("the page preloads the editor, so that it loads in parallel with the shell", async () => {
  const html = await readFile(join(outDir, "index.html"), "utf8");
  for (const part of ["text-editor", "code"])
    expect(html).toMatch(new RegExp(`<link rel="modulepreload"[^>]*data-part="lazy"[^>]*/assets/${part}-`));
});

test("the browser compiles the shell and the editor in the background", async () => {
  const html = await readFile(join(outDir, "index.html"), "utf8");
  for (const part of ["index", "shell", "code", "text-editor"]) {
    const [, path = ""] = new RegExp(`"/workspace/(assets/${part}-[^"]+)"`).exec(html) ?? [];
    expect(await readFile(join(outDir, path), "utf8")).toMatch(/^\/\/# allFunctionsCalledOnLoad\n/);
  }
});

test("the page has no inline scripts, so that a strict content security policy can forbid them", async () => {
  const html = await readFile(join(outDir, "index.html"), "utf8");
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)[^>]*>/);
  expect(html).not.toMatch(/\son[a-z]+=/);
});
