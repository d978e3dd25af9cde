import type { Usage, UsageGroup, UsageReport } from "@berth/contract";
import { GROUP_FIELDS } from "../store/usage/usage-row.ts";

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

// One line for each row, as RFC 4180 says.
export function usageCsv({ currency, data }: UsageReport, groups: readonly UsageGroup[]): string {
  const fields: (keyof Usage)[] = [...groups.map((group) => GROUP_FIELDS[group]), ...AMOUNTS];
  const lines = data.map((row) => [...fields.map((field) => cellOf(row[field])), cellOf(currency)]);
  return [[...fields, "currency"], ...lines].map((cells) => `${cells.join(",")}\r\n`).join("");
}

// A spreadsheet would run text that begins like a formula. User ids come from partners' users.
const FORMULA = /^[=+\-@\t\r\n]/;

export function cellOf(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
