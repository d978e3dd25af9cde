import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { NAVIGATION } from "./navigation.ts";

export const ROOT = join(import.meta.dirname, "..");

// A Markdown file of the repository that is a page of the documentation.
export interface Source {
  // Its path from the root of the repository.
  file: string;
  // Its address on the server.
  url: string;
  title: string;
  // For the sidebar.
  name: string;
  text: string;
}

const FILES = [
  "{ARCHITECTURE,CHANGELOG,CONTRIBUTING,README,SECURITY}.md",
  "docs/*.md",
  "docs/decisions/*.md",
  "client/README.md",
  "clients/*/README.md",
  "examples/*/README.md",
  "bench/README.md",
  "bench/results/*.md",
];

// The other pages are only linked from pages.
export const isListed = ({ file }: Source): boolean => !/^(docs\/decisions|bench)\//.test(file);

// The list of pages for a code host. At /docs, the navigation takes its place.
export const INDEX = "docs/README.md";

// The reference of the API, which the server renders, and the list of decisions.
export const REFERENCE_URL = "/docs/api";
export const DECISIONS_URL = "/docs/decisions";

export function readSources(): Source[] {
  const names = new Map(NAVIGATION.flatMap(({ entries }) => entries.map(({ file, name }) => [file, name])));
  return globSync(FILES, { cwd: ROOT, exclude: [INDEX] })
    .toSorted()
    .map((file) => {
      const text = readFileSync(join(ROOT, file), "utf8");
      const title = (/^# (.+)$/m.exec(text)?.[1] ?? file).replaceAll("`", "");
      return { file, url: `/docs/${addressOf(file)}`, title, name: names.get(file) ?? title, text };
    });
}

// Files whose address would be that of another page.
const OTHER_ADDRESSES: Record<string, string> = {
  "docs/api.md": "partner-api",
  "README.md": "quick-start",
  "SECURITY.md": "security-policy",
  "client/README.md": "clients/typescript",
};

function addressOf(file: string): string {
  return (
    OTHER_ADDRESSES[file] ??
    file
      .replace(/^docs\//, "")
      .replace(/(\/README)?\.md$/, "")
      .replace(/^[A-Z]+$/, (name) => name.toLowerCase())
  );
}

// The target of a relative link: a page, another file of the repository, or nothing.
export type Target = { url: string } | { file: string } | null;

export function createLinks(sources: readonly Source[]): (from: string, link: string) => Target {
  const urls = new Map(sources.map(({ file, url }) => [file, url]));
  urls.set("docs", "/docs").set(INDEX, "/docs").set("docs/decisions", DECISIONS_URL);
  return (from, link) => {
    const [path = "", anchor] = link.split("#");
    const file = path === "" ? from : normalize(join(dirname(from), path)).replace(/\/$/, "");
    const url = urls.get(file) ?? urls.get(`${file}/README.md`);
    if (url !== undefined) return { url: anchor === undefined ? url : `${url}#${anchor}` };
    return existsSync(join(ROOT, file)) ? { file } : null;
  };
}
