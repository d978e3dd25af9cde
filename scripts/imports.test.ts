import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { expect, test } from "vitest";

// ARCHITECTURE.md says who may import whom; this test reads the table there and the imports here.
const root = join(import.meta.dirname, "..");
const table = readTable();

test("every part of the house is in the table of ARCHITECTURE.md", () => {
  const parts = new Set(sources().map(partOf));
  expect([...parts].filter((part) => !table.has(part))).toEqual([]);
});

test("nobody imports what the table of ARCHITECTURE.md does not allow", () => {
  const forbidden = sources()
    .filter((file) => file !== "server/main.ts")
    .flatMap((file) => {
      const from = partOf(file);
      const allowed = table.get(from) ?? [];
      return importsOf(file)
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

function sources(): string[] {
  return globSync("{contract,client,daemon,server,cli,web}/**/*.{ts,tsx}", { cwd: root })
    .filter((file) => !/node_modules|\/dist\/|\.test\.tsx?$|\.suite\.ts$|\/testing(\/|\.ts$)/.test(file))
    .map((file) => file.split(sep).join("/"));
}

// A part is a package, or a folder of the server; the files directly in server/ are "server".
function partOf(file: string): string {
  const [top, folder, ...rest] = file.split("/");
  return top === "server" && rest.length > 0 ? `server/${folder}` : top!;
}

const withoutEnding = (file: string) => file.replace(/\.tsx?$/, "");

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), "utf8");
  const names = [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map(([, name]) => name!);
  return names.flatMap((name) => {
    if (name.startsWith("."))
      return [
        relative(root, join(root, dirname(file), name))
          .split(sep)
          .join("/"),
      ];
    const own = /^@berth\/(\w+)(?:\/(.+))?$/.exec(name);
    return own ? [`${own[1]}/${own[2] ?? "index.ts"}`] : [];
  });
}
