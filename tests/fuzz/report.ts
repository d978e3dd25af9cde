import type { Failure } from "./failures.ts";
import type { RunResult } from "./run.ts";
import type { FindingKind } from "./target.ts";

const MiB = 1024 * 1024;
const KINDS: FindingKind[] = ["crash", "5xx", "hang", "wrong answer"];

// The run as a table, with its failures and the server's state below.
export function showResult({ seed, elapsedMs, cases, failures, samples, leaks }: RunResult): string {
  const rows = [...cases].map(([name, count]) =>
    rowOf(
      name,
      count,
      failures.filter(({ target }) => target === name),
      elapsedMs,
    ),
  );
  const total = [...cases.values()].reduce((sum, count) => sum + count, 0);
  const table = [["target", "cases", "a second", ...KINDS], ...rows, rowOf("all", total, failures, elapsedMs)];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  const lines = table.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join("  "),
  );
  const list = failures.map(({ target, number, finding, count }) => `${finding.kind} (${count}): ${target} ${number}: ${finding.sentence}`);
  const show = (pick: (sample: NonNullable<typeof samples>["early"]) => string) =>
    samples ? `${pick(samples.early)} -> ${pick(samples.late)}` : "not seen";
  return [
    `seed ${seed}, ${(elapsedMs / 1000).toFixed(0)} s`,
    ...lines,
    ...list,
    `open files ${show(({ openFiles }) => String(openFiles))}`,
    `heap ${show(({ heapBytes }) => `${(heapBytes / MiB).toFixed(0)} MiB`)}, resident ${show(({ rssBytes }) => `${(rssBytes / MiB).toFixed(0)} MiB`)}`,
    `longest stall of the event loop ${samples ? `${Math.max(samples.early.longestStallMs, samples.late.longestStallMs).toFixed(0)} ms` : "not seen"}`,
    ...(leaks.length === 0 ? ["no leaks"] : leaks.map((leak) => `leak: ${leak}`)),
  ].join("\n");
}

function rowOf(name: string, count: number, failures: Failure[], elapsedMs: number): string[] {
  const seen = KINDS.map((kind) =>
    failures.filter(({ finding }) => finding.kind === kind).reduce((sum, failure) => sum + failure.count, 0),
  );
  return [name, String(count), ((count / elapsedMs) * 1000).toFixed(0), ...seen.map(String)];
}
