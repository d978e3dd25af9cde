// `node bench/document.ts [folder]` adds the runs in a folder (`runs` here) to bench/results, which has the tables, the plot and the
// machine's facts of each benchmark, and writes the table of docs/performance.md. Several files may hold parts of one benchmark.
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { formatPage } from "./report/page.ts";
import { drawPlot } from "./report/plot.ts";
import type { Report } from "./report/report.ts";
import { addRuns, formatResults, replacePart, type Result } from "./report/results.ts";

const runsFolder = process.argv[2] ?? join(import.meta.dirname, "runs");
const resultsFolder = join(import.meta.dirname, "results");
const page = join(import.meta.dirname, "../docs/performance.md");

const runs = readAll<Report>(runsFolder).map(({ content }) => content);
const results = new Map(readAll<Result[]>(resultsFolder).map(({ name, content }) => [name, content]));
for (const [name, reports] of Map.groupBy(runs, ({ benchmark }) => benchmark)) results.set(name, addRuns(results.get(name) ?? [], reports));
for (const [name, sections] of results) {
  const file = join(resultsFolder, name);
  const text = existsSync(`${file}.md`) ? readFileSync(`${file}.md`, "utf8") : `# ${name}\n\n<!-- results -->\n\n<!-- end of results -->\n`;
  writeFileSync(`${file}.md`, replacePart(text, "results", formatResults(name, sections)));
  writeFileSync(`${file}.json`, `${JSON.stringify(sections, null, 2)}\n`);
  writeFileSync(`${file}.svg`, drawPlot(sections));
}
writeFileSync(page, replacePart(readFileSync(page, "utf8"), "rows", formatPage(results)));

function readAll<T>(folder: string): { name: string; content: T }[] {
  return globSync("**/*.json", { cwd: folder })
    .toSorted()
    .map((path) => ({ name: basename(path, ".json"), content: JSON.parse(readFileSync(join(folder, path), "utf8")) as T }));
}
