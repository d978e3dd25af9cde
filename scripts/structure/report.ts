// npm run structure: how the tree is built, as numbers. `scripts/structure/imports.test.ts` keeps the circles at zero.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findCircles, findFolderCircles, readImportGraph } from "./import-graph.ts";

const CROWDED_FOLDER = 14;
const LONG_FILE_LINES = 300;

const root = join(import.meta.dirname, "../..");
const graph = readImportGraph(root);
const tracked = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trim().split("\n");
const code = tracked.filter((file) => /\.(?:ts|tsx|mjs)$/.test(file) && !file.includes("/generated/"));

const perFolder = new Map<string, number>();
for (const file of tracked) perFolder.set(dirname(file), (perFolder.get(dirname(file)) ?? 0) + 1);
const lines = code.map((file) => ({ file, lines: readFileSync(join(root, file), "utf8").split("\n").length - 1 }));
const productLines = lines.filter(({ file }) => graph.imports.has(file)).map((one) => one.lines);

console.log(
  `${graph.files.length} product files, median ${median(productLines)} lines; ${code.length - graph.files.length} files of tests and scripts`,
);
list(
  `folders with more than ${CROWDED_FOLDER} files`,
  [...perFolder]
    .filter(([, count]) => count > CROWDED_FOLDER)
    .toSorted((a, b) => b[1] - a[1])
    .map(([folder, count]) => `${count}  ${folder}`),
);
list(
  `files of more than ${LONG_FILE_LINES} lines`,
  lines
    .filter((one) => one.lines > LONG_FILE_LINES)
    .toSorted((a, b) => b.lines - a.lines)
    .map((one) => `${one.lines}  ${one.file}`),
);
list(
  "import circles between files, type imports included",
  findCircles(graph.imports).map((circle) => circle.join(" ")),
);
list(
  "import circles between folders",
  findFolderCircles(graph).map((circle) => circle.join(" ")),
);

function list(title: string, items: string[]): void {
  console.log(`\n${title}: ${items.length}`);
  for (const item of items) console.log(`  ${item}`);
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
