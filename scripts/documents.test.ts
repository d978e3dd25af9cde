import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createAnchors } from "../docs-site/anchors.ts";

const root = join(import.meta.dirname, "..");
const documents = globSync(["*.md", "{bench,client,clients,deploy,docs,examples,tests}/**/*.md"], {
  cwd: root,
  exclude: ["**/node_modules/**", "**/artifacts/**", "**/dist/**"],
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

test("every code fence is closed, and its lines are indented at least as far as the fence", () => {
  const broken = documents.flatMap((document) => {
    let opening: { indent: number; line: number } | null = null;
    const faults: string[] = [];
    for (const [index, line] of read(document).split("\n").entries()) {
      const indent = line.length - line.trimStart().length;
      if (line.trimStart().startsWith("```")) opening = opening ? null : { indent, line: index + 1 };
      // A line further left ends the list item and with it the code, so that the closing fence opens another block.
      else if (opening && line.trim() !== "" && indent < opening.indent) faults.push(`${document}:${index + 1}`);
    }
    return opening ? [...faults, `${document}:${(opening as { line: number }).line} is not closed`] : faults;
  });
  expect(broken).toEqual([]);
});

test("every definition that a reference link uses exists", () => {
  const missing = documents.flatMap((document) => {
    const text = withoutCode(read(document));
    const defined = new Set([...text.matchAll(/^\[([^\]]+)\]: /gm)].map(([, name]) => name!.toLowerCase()));
    return [...text.matchAll(/\]\[([^\]]*)\]/g)]
      .map(([, name]) => name!)
      .filter((name) => !defined.has(name.toLowerCase()))
      .map((name) => `${document}: [${name}]`);
  });
  expect(missing).toEqual([]);
});

test("documents run the tests with `npm test`, because `npx vitest` may run them on the machine's own Node", () => {
  const named = documents.filter((document) => document !== "CHANGELOG.md" && read(document).includes("npx vitest"));
  expect(named).toEqual([]);
});

function read(document: string): string {
  return readFileSync(join(root, document), "utf8");
}

function withoutCode(text: string): string {
  return withoutFences(text).replace(/`[^`\n]*`/g, "");
}

function withoutFences(text: string): string {
  return text.replace(/^\s*```[\s\S]*?^\s*```/gm, "");
}

function leadsSomewhere(document: string, link: string): boolean {
  const [path = "", heading] = link.split("#");
  const target = path === "" ? join(root, document) : join(root, dirname(document), path);
  if (!existsSync(target)) return false;
  return heading === undefined || headingsOf(readFileSync(target, "utf8")).includes(heading);
}

// A `#` in a code block is a comment and no heading.
function headingsOf(text: string): string[] {
  const nextAnchor = createAnchors();
  return [...withoutFences(text).matchAll(/^#+ (.+)$/gm)].map(([, title]) => nextAnchor(title!));
}
