import { execFileSync } from "node:child_process";
import { readFileIfReadable } from "../../bounded-io/read-small-file.ts";
import type { ProcessEntry } from "../host/process-table.ts";

const CLOCK_TICKS_PER_SECOND = 100;

// What the processes hold together. Shared pages count once for each, so it is an upper bound.
export function memoryOf(entries: readonly ProcessEntry[]): number {
  if (process.platform !== "linux") return 1024 * sumOfPs(entries, "rss=", Number);
  return entries.reduce((sum, { pid }) => sum + 4096 * Number(readFileIfReadable(`/proc/${pid}/statm`)?.split(" ")[1] ?? 0), 0);
}

export function cpuMsOf(entries: readonly ProcessEntry[]): number {
  if (process.platform !== "linux") return 0;
  let ticks = 0;
  for (const { pid } of entries) {
    const line = readFileIfReadable(`/proc/${pid}/stat`);
    const fields = line?.slice(line.lastIndexOf(")") + 2).split(" ");
    // User and system time, its own and that of the children it has waited for.
    for (const index of [11, 12, 13, 14]) ticks += Number(fields?.[index] ?? 0);
  }
  return (ticks * 1000) / CLOCK_TICKS_PER_SECOND;
}

function sumOfPs(entries: readonly ProcessEntry[], column: string, parse: (text: string) => number): number {
  if (entries.length === 0) return 0;
  const pids = entries.map(({ pid }) => pid).join(",");
  const lines = execFileSync("ps", ["-o", column, "-p", pids], { encoding: "utf8" }).trim().split("\n");
  return lines.reduce((sum, line) => sum + (parse(line.trim()) || 0), 0);
}
