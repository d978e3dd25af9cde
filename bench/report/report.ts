import type { Machine } from "./machine.ts";
import { summarize, type Summary } from "./statistics.ts";

export type Unit = "ms" | "µs" | "s" | "MB" | "kB" | "MB/s" | "1/s" | "count";

// The measurements of one contestant.
export interface Row {
  what: string;
  unit: Unit;
  values: readonly number[];
  // The row of the same section that this one is compared with.
  beside?: string;
  targets?: readonly Target[];
  // Further columns, by their headings.
  more?: Readonly<Record<string, string>>;
}

// A target of the project: a percentile, how far the slowest values are from the median, or the ratio or the difference of the medians of
// this row and the one beside it.
export type Target = { of: "p50" | "p99" | "p99/p50" | "ratio" | "p50 − beside" } & ({ atMost: number } | { atLeast: number });

// Rows that were measured in alternating rounds.
export interface Section {
  title: string;
  rows: readonly Row[];
}

export interface Report {
  benchmark: string;
  startedAt: string;
  tookS: number;
  isShort: boolean;
  machine: Machine;
  // Disturbances of the run, and comparisons that this machine does not allow.
  remarks: readonly string[];
  sections: readonly Section[];
}

// A row without its single values: percentiles, the ratio, and whether targets are met.
export type ReadRow = Omit<Row, "values" | "targets"> & Summary & { ratio?: number; verdict?: string };

export interface ReadSection {
  title: string;
  rows: readonly ReadRow[];
}

export function readSection({ title, rows }: Section): ReadSection {
  const medians = new Map(rows.map(({ what, values }) => [what, summarize(values).p50]));
  const read = rows.map(({ values, targets = [], ...row }): ReadRow => {
    const summary = summarize(values);
    const besides = row.beside === undefined ? undefined : medians.get(row.beside);
    const ratio = besides === undefined ? undefined : summary.p50 / besides;
    const measured = { ...row, ...summary, ...(ratio !== undefined && { ratio }) };
    const verdicts = targets.flatMap((target) => judge(target, measured, besides));
    return verdicts.length === 0 ? measured : { ...measured, verdict: verdicts.join(", ") };
  });
  return { title, rows: read };
}

function judge(target: Target, { p50, p99, ratio }: Summary & { ratio?: number }, beside: number | undefined): string[] {
  const difference = beside === undefined ? undefined : p50 - beside;
  const value = { p50, p99, "p99/p50": p99 / p50, ratio, "p50 − beside": difference }[target.of];
  if (value === undefined) return [];
  const isMet = "atMost" in target ? value <= target.atMost : value >= target.atLeast;
  const bound = "atMost" in target ? `≤ ${round(target.atMost)}` : `≥ ${round(target.atLeast)}`;
  return [`${target.of} ${bound}: ${isMet ? "met" : "missed"}`];
}

const round = (value: number) => Math.round(value * 100) / 100;
