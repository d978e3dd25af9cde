import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const documents = globSync(["*.md", "{client,deploy,docs,examples,tests}/**/*.md"], {
  cwd: root,
  exclude: ["**/node_modules/**", "**/artifacts/**"],
});

test("every link between documents leads to a file and a heading that exist", () => {
  const broken = documents.flatMap((document) =>
    [...withoutCode(read(document)).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link]) => link!)
      .filter((link) => !/^(?:https?|mailto):/.test(link) && !leadsSomewhere(document, link))
      .map((link) => `${document}: ${link}`),
  );
  expect(broken).toEqual([]);
});

test("every file that a document names exists", () => {
  // Decisions and the changelog describe the past, so they may name files that have moved since.
  const current = documents.filter((document) => !document.startsWith("docs/decisions/") && document !== "CHANGELOG.md");
  const missing = current.flatMap((document) =>
    [...read(document).matchAll(/`((?:\.ci|contract|client|daemon|server|cli|web|tests|scripts|bench|deploy|docs|examples)\/[\w./-]+)`/g)]
      .map(([, path]) => path!)
      .filter(
        (path) => !/\/dist\/|\/artifacts\//.test(path) && ![path, `${path}.ts`].some((candidate) => existsSync(join(root, candidate))),
      )
      .map((path) => `${document}: ${path}`),
  );
  expect(missing).toEqual([]);
});

test("every code fence is closed", () => {
  expect(documents.filter((document) => [...read(document).matchAll(/^\s*```/gm)].length % 2 === 1)).toEqual([]);
});

function read(document: string): string {
  return readFileSync(join(root, document), "utf8");
}

function withoutCode(text: string): string {
  return text.replace(/^\s*```[\s\S]*?^\s*```/gm, "").replace(/`[^`\n]*`/g, "");
}

function leadsSomewhere(document: string, link: string): boolean {
  const [path = "", heading] = link.split("#");
  const target = path === "" ? join(root, document) : join(root, dirname(document), path);
  if (!existsSync(target)) return false;
  return heading === undefined || headingsOf(readFileSync(target, "utf8")).includes(heading);
}

// GitHub's rule: lower case, punctuation removed, spaces become hyphens.
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replace(/\s/g, "-"),
  );
}
