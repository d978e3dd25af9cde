import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { findCircles, findFolderCircles, partImports, partOf, readImportGraph } from "./import-graph.ts";

// ARCHITECTURE.md holds the table of allowed imports; this test compares the code with it.
const root = join(import.meta.dirname, "../..");
const table = readTable("Who may import whom");
const graph = readImportGraph(root);
const workspaceTable = readTable("Folders of the workspace");
const workspaceImports = new Map([...graph.imports].filter(([file]) => file.startsWith("web/workspace/")));

test("every part of the product is in the import table of ARCHITECTURE.md", () => {
  const parts = new Set(graph.files.map(partOf));
  expect([...parts].filter((part) => !table.has(part))).toEqual([]);
});

test("every import is allowed by the table of ARCHITECTURE.md", () => {
  const forbidden = graph.files
    .filter((file) => file !== "server/main.ts")
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
      .filter((file) => file !== "server/main.ts")
      .flatMap((file) =>
        graph.imports
          .get(file)!
          .flatMap((target) => [partOf(target), withoutEnding(target)].map((to) => `${partOf(file)} may import ${to}`)),
      ),
  );
  const allowed = [...table].flatMap(([from, targets]) => targets.map((to) => `${from} may import ${to}`));
  expect(allowed.filter((allowance) => !used.has(allowance))).toEqual([]);
});

test("a folder of the workspace imports only what its row in ARCHITECTURE.md allows", () => {
  const forbidden = workspaceFolderImports().filter(({ from, to }) => !workspaceTable.get(from)?.includes(to));
  expect(forbidden.map(({ file, to }) => `${file} imports ${to}`)).toEqual([]);
});

test("every allowance of a workspace folder is used", () => {
  const used = new Set(workspaceFolderImports().map(({ from, to }) => `${from} may import ${to}`));
  const allowed = [...workspaceTable].flatMap(([from, targets]) => targets.map((to) => `${from} may import ${to}`));
  expect(allowed.filter((allowance) => !used.has(allowance))).toEqual([]);
});

test("a folder of the workspace may import only folders further down in its table", () => {
  const order = [...workspaceTable.keys()];
  const upward = [...workspaceTable].flatMap(([from, targets]) =>
    targets.filter((to) => order.indexOf(to) <= order.indexOf(from)).map((to) => `${from} may import ${to}`),
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

// main.tsx, directly in web/workspace, may import every folder.
function workspaceFolderImports(): { file: string; from: string; to: string }[] {
  const folderOf = (file: string) => dirname(file).replace(/^web\/workspace\/?/, "");
  return [...workspaceImports]
    .flatMap(([file, targets]) => targets.map((target) => ({ file, from: folderOf(file), to: folderOf(target), target })))
    .filter(({ from, to, target }) => from !== "" && from !== to && target.startsWith("web/workspace/"));
}

// The first cell of a row names the part, the last one what it may import.
function readTable(heading: string): Map<string, string[]> {
  const text = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  const section = text.slice(text.indexOf(`## ${heading}`)).split(/\n(?=## )/)[0]!;
  const rows = [...section.matchAll(/^\| `([^`]+)` \|(?:.*\|)? (.*) \|$/gm)];
  return new Map(rows.map(([, part, allowed]) => [part!, [...allowed!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)]));
}

const withoutEnding = (file: string) => file.replace(/\.tsx?$/, "");
