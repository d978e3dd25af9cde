import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

// Every name of a file, a script or a symbol in a comment or a document leads to something that exists. Decisions and the changelog
// describe the past, so they may name what has moved since.

const root = join(import.meta.dirname, "..");
const PARTS = [
  "contract",
  "client",
  "daemon",
  "native",
  "server",
  "cli",
  "web",
  "docs-site",
  "tests",
  "scripts",
  "bench",
  "deploy",
  "docs",
  "examples",
];
const paths = globSync(["*", ".ci/*", `{${PARTS.join()}}/**/*`], {
  cwd: root,
  withFileTypes: true,
  exclude: ({ name }) => ["node_modules", "dist", "artifacts", "results"].includes(name),
}).map((entry) => ({ path: join(entry.parentPath, entry.name).slice(root.length + 1), isFile: entry.isFile() }));
const files = paths.filter(({ isFile }) => isFile).map(({ path }) => path);
const read = (path: string) => readFileSync(join(root, path), "utf8");

const SOURCE = /\.(?:[cm]?js|tsx?)$/;
const COMMENT = /^[ \t]*\/\/.*$|\/\*[\s\S]*?\*\/|(?<=[;,{}()\]] )\/\/ .*$/gm;
const sources = files.filter((path) => SOURCE.test(path)).map((path) => ({ path, text: read(path) }));
const code = sources.map(({ text }) => text.replace(COMMENT, "")).join("\n");
const settings = files.filter((path) => /\.(?:ya?ml|json|html|sh)$|Dockerfile/.test(path) && path !== "package-lock.json").map(read);
const words = new Set([code, ...settings].flatMap((text) => text.match(/[A-Za-z_]\w*/g) ?? []));
const comments = sources.map(({ path, text }) => ({ path, text: [...text.matchAll(COMMENT)].join("\n") }));
const documents = files
  .filter((path) => path.endsWith(".md") && !path.startsWith("docs/decisions/") && path !== "CHANGELOG.md")
  .map((path) => ({ path, text: read(path) }));
const prose = [...comments, ...documents.map(({ path, text }) => ({ path, text: text.replace(/^\s*```[\s\S]*?^\s*```/gm, "") }))];

// A path may be given from any folder on, such as `states/states.ts`.
const known = new Set(paths.flatMap(({ path }) => path.split("/").map((_, index, names) => names.slice(index).join("/"))));

// An example such as `src/a.ts`, or a built file, occurs in the code.
const exists = (name: string) => [name, `${name}.ts`].some((path) => known.has(path)) || code.includes(name);

test("every file that a comment or a document names exists", () => {
  const FILE = /(?<![\w/.@{}:$*-])((?:\.?[\w-]+\/)*[\w-][\w.-]*\.(?:ts|tsx|mjs|cjs|md|sh|ya?ml|css|svg))\b(?![\w/*-])/g;
  const IN_PART = new RegExp(`(?<![\\w/.-])((?:${PARTS.join("|")})/[\\w./-]*\\w)`, "g");
  const named = (text: string) => [...text.matchAll(FILE), ...text.matchAll(IN_PART)].map(([, name]) => name!);
  expect(faultsIn(prose, (text) => named(text).filter((name) => !exists(name) && !/\/(?:dist|results|artifacts)\b/.test(name)))).toEqual(
    [],
  );
});

test("every script that a comment, a document or the code names exists", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const named = (text: string) => [...text.matchAll(/npm run ([\w:-]*\w)/g)].map(([, name]) => name!);
  expect(faultsIn([...documents, ...sources], (text) => named(text).filter((name) => scripts[name] === undefined))).toEqual([]);
});

// The guides in docs/ also name symbols of other systems. ARCHITECTURE.md, CONTRIBUTING.md and the like name only ours.
const aboutTheCode = prose.filter(({ path }) => !path.startsWith("docs/"));

test("every symbol in backticks that a comment or a document about the code names exists", () => {
  const SYMBOL = /`([a-z]+[A-Z]\w*|[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*|(?:[A-Z][a-z]+){2,})(?:\([^`]*\))?`/g;
  const named = (text: string) => [...text.matchAll(SYMBOL)].map(([, name]) => name!);
  expect(faultsIn(aboutTheCode, (text) => named(text).filter((name) => !words.has(name)))).toEqual([]);
});

test("every symbol that is said to be in a file is in it", () => {
  const IN_FILE = /((?:`[A-Za-z_]\w*`[^`.;()]{1,30}?)+)\bin\s+`([\w./-]+\.tsx?)`/g;
  const missing = (text: string) =>
    [...text.matchAll(IN_FILE)].flatMap(([, symbols, file]) => {
      const texts = sources.filter(({ path }) => `/${path}`.endsWith(`/${file}`)).map((source) => source.text);
      const isIn = (symbol: string) => texts.some((found) => new RegExp(`\\b${symbol}\\b`).test(found));
      return [...symbols!.matchAll(/`(\w+)`/g)].flatMap(([, symbol]) => (isIn(symbol!) ? [] : [`${symbol} in ${file}`]));
    });
  expect(faultsIn(prose, missing)).toEqual([]);
});

function faultsIn(texts: readonly { path: string; text: string }[], faults: (text: string) => string[]): string[] {
  return texts.flatMap(({ path, text }) => faults(text).map((fault) => `${path}: ${fault}`));
}
