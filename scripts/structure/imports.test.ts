import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildsParts, findCircles, findFolderCircles, partImports, partOf, readImportGraph } from "./import-graph.ts";

// ARCHITECTURE.md holds the table of allowed imports; this test compares the code with it.
const root = join(import.meta.dirname, "../..");
const table = readTable("Who may import whom");
const graph = readImportGraph(root);
// The folders of each layer, from the top to the bottom.
const layers = [...readSection("The workspace in the browser").matchAll(/^\| \w+ \| (`[^|]*`) \|/gm)].map(([, cell]) => namesIn(cell!));
const workspaceImports = new Map([...graph.imports].filter(([file]) => file.startsWith("web/workspace/")));

test("every part of the product is in the import table of ARCHITECTURE.md", () => {
  const parts = new Set(graph.files.filter((file) => !buildsParts(file)).map(partOf));
  expect([...parts].filter((part) => !table.has(part))).toEqual([]);
});

test("every import is allowed by the table of ARCHITECTURE.md", () => {
  const forbidden = graph.files
    .filter((file) => !buildsParts(file))
    .flatMap((file) => {
      const from = partOf(file);
      const allowed = table.get(from) ?? [];
      return graph.imports
        .get(file)!
        .map((target) => ({ target, part: partOf(target) }))
        .filter(({ target, part }) => part !== from && !allowed.some((rule) => rule === part || rule === withoutEnding(target)))
        .map(({ target }) => `${file} imports ${target}`);
    });
  expect(forbidden).toEqual([]);
});

test("every allowance of the import table is used", () => {
  const used = new Set(
    graph.files
      .filter((file) => !buildsParts(file))
      .flatMap((file) =>
        graph.imports
          .get(file)!
          .flatMap((target) => [partOf(target), withoutEnding(target)].map((to) => `${partOf(file)} may import ${to}`)),
      ),
  );
  const allowed = [...table].flatMap(([from, targets]) => targets.map((to) => `${from} may import ${to}`));
  expect(allowed.filter((allowance) => !used.has(allowance))).toEqual([]);
});

test("every folder of the workspace is in one layer of ARCHITECTURE.md", () => {
  const folders = new Set([...workspaceImports.keys()].map(workspaceFolder).filter((folder) => folder !== null));
  expect(layers.flat().toSorted()).toEqual([...folders].toSorted());
});

test("a folder of the workspace imports only folders of its own layer and of those below", () => {
  const layerOf = (file: string) => layers.findIndex((folders) => folders.includes(workspaceFolder(file) ?? ""));
  // main.tsx, directly in web/workspace, may import every folder.
  const upward = [...workspaceImports]
    .filter(([file]) => workspaceFolder(file) !== null)
    .flatMap(([file, targets]) =>
      targets
        .filter((target) => target.startsWith("web/workspace/") && layerOf(target) < layerOf(file))
        .map((target) => `${file} imports ${target}`),
    );
  expect(upward).toEqual([]);
});

test("there are no import circles between files or folders, type imports included", () => {
  expect(findCircles(graph.imports)).toEqual([]);
  expect(findFolderCircles(graph)).toEqual([]);
});

test("there are no import circles between the parts of ARCHITECTURE.md", () => {
  expect(findCircles(partImports(graph))).toEqual([]);
});

// The folder directly in web/workspace that holds a file; null for files that no folder holds.
function workspaceFolder(file: string): string | null {
  return /^web\/workspace\/([^/]+)\//.exec(file)?.[1] ?? null;
}

// The first cell of a row names the part, the last one what it may import.
function readTable(heading: string): Map<string, string[]> {
  const rows = [...readSection(heading).matchAll(/^\| `([^`]+)` \|(?:.*\|)? (.*) \|$/gm)];
  return new Map(rows.map(([, part, allowed]) => [part!, namesIn(allowed!)]));
}

function readSection(heading: string): string {
  const text = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  return text.slice(text.indexOf(`## ${heading}`)).split(/\n(?=## )/)[0]!;
}

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
}

const withoutEnding = (file: string) => file.replace(/\.tsx?$/, "");
