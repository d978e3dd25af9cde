import { stripVTControlCharacters } from "node:util";
import { escapeControls, escapeExceptLayout } from "./escape-controls.ts";
import { style } from "./style.ts";

// Prints the result of a command: JSON for programs, or text for people. Times are ISO 8601 in JSON and relative in text. Both are
// escaped, because both may go to a terminal.
export function show(options: { json?: boolean }, value: unknown, text: () => string): void {
  process.stdout.write(escapeExceptLayout(options.json ? `${JSON.stringify(value, null, 2)}\n` : text()));
}

export interface Column<Row> {
  name: string;
  value(row: Row): string;
  right?: true;
}

export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], emptyText: string): string {
  if (rows.length === 0) return `${style.dim(emptyText)}\n`;
  const cells = rows.map((row) => columns.map((column) => column.value(row)));
  const widths = columns.map((column, at) => Math.max(column.name.length, ...cells.map((line) => widthOf(line[at] ?? ""))));
  const formatRow = (line: readonly string[]) =>
    line
      .map((cell, at) => pad(cell, widths[at] ?? 0, columns[at] ?? {}))
      .join("  ")
      .trimEnd();
  const header = style.dim(formatRow(columns.map((column) => column.name.toUpperCase())));
  return `${[header, ...cells.map(formatRow)].join("\n")}\n`;
}

// Splits off the row that a query returns beyond its limit to show that there are more.
export function cut<Row>(found: readonly Row[], limit: number): { rows: Row[]; hasMore: boolean } {
  return { rows: found.slice(0, limit), hasMore: found.length > limit };
}

// Writes to stderr, so that it disturbs neither JSON nor a pipe.
export const noteMore = (sentence: string) => process.stderr.write(`${style.dim(sentence)}\n`);

// Names and values of one item, one per line.
export function facts(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${style.dim(name.padEnd(width))}  ${value}\n`).join("");
}

export const isoOf = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

export const orDash = (value: string | number | null) => (value === null || value === "" ? style.dim("–") : String(value));

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(bytes > 0 && bytes < 1e7 ? 1 : 0)} MB`;

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
] as const;

// "5 min ago", "in 23 h".
export function relative(ms: number | null, nowMs = Date.now()): string {
  if (ms === null) return orDash(null);
  const distanceMs = Math.abs(nowMs - ms);
  const [unit, length] = UNITS.find(([, unitMs]) => distanceMs >= unitMs) ?? [];
  if (!unit || !length) return "now";
  const amount = `${Math.round(distanceMs / length)} ${unit}`;
  return ms < nowMs ? `${amount} ago` : `in ${amount}`;
}

export function state(word: string): string {
  const paints: Record<string, (text: string) => string> = {
    active: style.green,
    running: style.green,
    paused: style.yellow,
  };
  return (paints[word] ?? style.dim)(word);
}

// Limits text from partners to one line of bounded length, without colours.
export function clean(text: string, length = 40): string {
  const plain = escapeControls(text);
  return plain.length > length ? `${plain.slice(0, length - 1)}…` : plain;
}

const widthOf = (text: string) => stripVTControlCharacters(text).length;

const pad = (text: string, width: number, { right = false }: { right?: boolean }) => {
  const space = " ".repeat(Math.max(0, width - widthOf(text)));
  return right ? space + text : text + space;
};
