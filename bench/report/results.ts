import { readSection, type ReadSection, type Report } from "./report.ts";
import { formatSection } from "./table.ts";

// A section as bench/results keeps it: without single values, and with the facts of its run, because the sections of a benchmark may
// come from different days.
export type Result = ReadSection & Pick<Report, "startedAt" | "isShort" | "machine" | "remarks">;

// The results after further runs: a section of a run replaces the older one of the same title. If several runs have it, the one with the
// most values counts.
export function addRuns(known: readonly Result[], runs: readonly Report[]): Result[] {
  const merged = new Map(known.map((result) => [result.title, result]));
  const sizes = new Map<string, number>();
  for (const { startedAt, isShort, machine, remarks, sections } of runs) {
    for (const section of sections) {
      const size = section.rows.reduce((sum, { values }) => sum + values.length, 0);
      if (size <= (sizes.get(section.title) ?? 0)) continue;
      sizes.set(section.title, size);
      merged.set(section.title, { ...readSection(section), startedAt, isShort, machine, remarks });
    }
  }
  return [...merged.values()];
}

// The tables of a benchmark, below the facts of the run that they come from, and its plot.
export function formatResults(name: string, results: readonly Result[]): string {
  const byFacts = Map.groupBy(results, formatFacts);
  const parts = [...byFacts].map(([facts, sections]) =>
    [facts, ...sections.map(({ title, rows }) => formatSection({ title: `**${title}**`, rows }))].join("\n\n"),
  );
  return [...parts, `![${name}](${name}.svg)`].join("\n\n");
}

function formatFacts({ startedAt, isShort, machine, remarks }: Result): string {
  const { cores, processor, architecture, kernel, memoryGb, node, driver, commit } = machine;
  const facts = `Measured on ${startedAt.slice(0, 10)} at commit ${commit}${isShort ? ", in the short form" : ""}: ${cores} cores (${processor}), ${architecture}, ${kernel}, ${memoryGb} GB of memory, Node ${node}, ${driver}.`;
  return [facts, ...remarks.map((remark) => `> ${remark}`)].join("\n\n");
}

// Replaces the text between the two comments that name a part.
export function replacePart(document: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the document has no part "${name}"`);
  return `${document.slice(0, from + begin.length)}\n\n${content}\n\n${document.slice(to)}`;
}
