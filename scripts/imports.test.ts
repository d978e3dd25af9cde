import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readImportGraph } from "./import-graph.ts";

// ARCHITECTURE.md holds the table of allowed imports; this test compares the code with it.
const root = join(import.meta.dirname, "..");
const table = readTable();
const graph = readImportGraph(root);

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

function readTable(): Map<string, string[]> {
  const text = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  const section = text.slice(text.indexOf("## Who may import whom"));
  const rows = [...section.matchAll(/^\| `([^`]+)` \| (.*) \|$/gm)];
  return new Map(rows.map(([, part, allowed]) => [part!, [...allowed!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)]));
}

// A part is a package, or a folder of the server; the files directly in server/ are "server".
function partOf(file: string): string {
  const [top, folder, ...rest] = file.split("/");
  return top === "server" && rest.length > 0 ? `server/${folder}` : top!;
}

const withoutEnding = (file: string) => file.replace(/\.tsx?$/, "");
