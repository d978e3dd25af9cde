// `node bench/document.ts [folder]` writes the results in a folder (bench/results) into docs/performance.md and docs/images. Several
// files may hold parts of one benchmark.
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { drawPlot } from "./report/plot.ts";
import { readSection, type ReadRow, type Report, type Section } from "./report/report.ts";
import { formatNumber, formatSection, formatTable } from "./report/table.ts";

const root = join(import.meta.dirname, "..");
const folder = process.argv[2] ?? join(import.meta.dirname, "results");
const file = join(root, "docs/performance.md");
const reports = globSync("**/*.json", { cwd: folder })
  .toSorted()
  .map((path) => JSON.parse(readFileSync(join(folder, path), "utf8")) as Report);
const names = [...new Set(reports.map(({ benchmark }) => benchmark))];

let text = readFileSync(file, "utf8");
for (const name of names) {
  const parts = reports.filter(({ benchmark }) => benchmark === name);
  const sections = mergeSections(parts.flatMap((report) => report.sections));
  const remarks = [...new Set(parts.flatMap((report) => [...(report.isShort ? ["Measured in the short form."] : []), ...report.remarks]))];
  const tables = sections.map((section) => formatSection({ ...section, title: `**${section.title}**` }));
  text = replacePart(
    text,
    name,
    [...remarks.map((remark) => `> ${remark}`), ...tables, `![${name}](images/bench-${name}.svg)`].join("\n\n"),
  );
  writeFileSync(join(root, `docs/images/bench-${name}.svg`), drawPlot(sections));
}
text = replacePart(text, "targets", formatTargets());
text = replacePart(text, "machine", formatMachine(reports[0]!));
writeFileSync(file, text);

// If a section was measured twice, keeps the one with more values.
function mergeSections(sections: readonly Section[]): Section[] {
  const size = ({ rows }: Section) => rows.reduce((sum, { values }) => sum + values.length, 0);
  const merged = new Map<string, Section>();
  for (const section of sections) {
    const known = merged.get(section.title);
    if (!known || size(known) < size(section)) merged.set(section.title, section);
  }
  return [...merged.values()];
}

// Replaces the text between the two comments that name a part.
function replacePart(document: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/performance.md has no part "${name}"`);
  return `${document.slice(0, from + begin.length)}\n\n${content}\n\n${document.slice(to)}`;
}

function formatTargets(): string {
  const rows = names.flatMap((name) => {
    const sections = mergeSections(reports.filter(({ benchmark }) => benchmark === name).flatMap((report) => report.sections));
    return sections.flatMap((section) =>
      readSection(section)
        .filter(({ verdict }) => verdict !== undefined)
        .map((row) => [name, section.title, row.what, formatMeasured(row), row.verdict!]),
    );
  });
  return formatTable(["benchmark", "part", "what", "measured", "target"], rows);
}

function formatMeasured({ p50, p99, unit, ratio, beside }: ReadRow): string {
  const compared = ratio === undefined ? "" : `; ${formatNumber(ratio)} × ${beside}`;
  return `p50 ${formatNumber(p50)}, p99 ${formatNumber(p99)} ${unit}${compared}`;
}

function formatMachine({ machine, startedAt }: Report): string {
  const { cores, processor, architecture, kernel, memoryGb, node, driver } = machine;
  const commits = [...new Set(reports.map((report) => report.machine.commit))].join(", ");
  return `Measured on ${startedAt.slice(0, 10)} at commit ${commits}: ${cores} cores (${processor}), ${architecture}, ${kernel}, ${memoryGb} GB of memory, Node ${node}, ${driver}.`;
}
