import type { ReadRow, ReadSection } from "./report.ts";

// The section as a Markdown table whose columns are aligned, so that it is readable in a terminal too.
export function formatSection({ title, rows }: ReadSection): string {
  const more = [...new Set(rows.flatMap((row) => Object.keys(row.more ?? {})))];
  const shows = { ratio: rows.some((row) => row.ratio !== undefined), verdict: rows.some((row) => row.verdict !== undefined) };
  const head = ["what", "unit", "n", "p50", "p95", "p99", ...(shows.ratio ? ["ratio"] : []), ...more, ...(shows.verdict ? ["target"] : [])];
  const body = rows.map((row) => [
    row.what,
    row.unit,
    String(row.count),
    ...[row.p50, row.p95, row.p99].map(formatNumber),
    ...(shows.ratio ? [formatRatio(row)] : []),
    ...more.map((column) => row.more?.[column] ?? ""),
    ...(shows.verdict ? [row.verdict ?? ""] : []),
  ]);
  return `${title}\n\n${formatTable(head, body)}`;
}

export function formatTable(head: readonly string[], body: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...body].map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  return [line(head), `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`, ...body.map(line)].join("\n");
}

// Three significant digits.
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "-";
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 3));
}

function formatRatio({ ratio, beside }: ReadRow): string {
  return ratio === undefined ? "" : `${formatNumber(ratio)} × ${beside}`;
}
