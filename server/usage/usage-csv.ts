import type { Usage } from "@berth/contract";

const AMOUNTS = [
  "runningSeconds",
  "pausedSeconds",
  "hibernatedSeconds",
  "cpuSeconds",
  "memoryPeakBytes",
  "memoryMeanBytes",
  "diskPeakBytes",
  "diskMeanBytes",
  "egressBytes",
  "ingressBytes",
  "inputTokens",
  "outputTokens",
  "estimatedCost",
] as const satisfies readonly (keyof Usage)[];

// One line for each row, as RFC 4180 says. `names` are the columns before the amounts.
export function usageCsv<Name extends string>(
  rows: readonly (Usage & Partial<Record<Name, string>>)[],
  names: readonly Name[],
  currency: string | null,
): string {
  const lines = rows.map((row) => [...names.map((name) => row[name]), ...AMOUNTS.map((name) => row[name]), currency].map(cellOf));
  return [[...names, ...AMOUNTS, "currency"], ...lines].map((cells) => `${cells.join(",")}\r\n`).join("");
}

// A spreadsheet would run text that begins like a formula. User ids come from partners' users.
const FORMULA = /^[=+\-@\t\r\n]/;

function cellOf(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
