import { execFileSync } from "node:child_process";
import { readFileIfReadable } from "../../bounded-io/read-small-file.ts";
import type { ProcessEntry } from "./process-table.ts";

const CLOCK_TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

// The sum of the memory of all processes. It is an upper bound, because shared pages count once per process.
export function memoryOf(entries: readonly ProcessEntry[]): number {
  if (process.platform !== "linux") return 1024 * sumOfPs(entries, "rss=");
  return entries.reduce((sum, { pid }) => sum + PAGE_BYTES * Number(readFileIfReadable(`/proc/${pid}/statm`)?.split(" ")[1] ?? 0), 0);
}

// The sum of the memory that belongs to no file. Processes that have forked share some of it. Only on Linux.
export const privateMemoryOf = (entries: readonly ProcessEntry[]): number =>
  entries.reduce((sum, { pid }) => {
    const [, resident = 0, shared = 0] = (readFileIfReadable(`/proc/${pid}/statm`) ?? "").split(" ").map(Number);
    return sum + PAGE_BYTES * (resident - shared);
  }, 0);

export function cpuMsOf(entries: readonly ProcessEntry[]): number {
  if (process.platform !== "linux") return 0;
  let ticks = 0;
  for (const { pid } of entries) {
    const line = readFileIfReadable(`/proc/${pid}/stat`);
    const fields = line?.slice(line.lastIndexOf(")") + 2).split(" ");
    // User and system time of the process, and of its children that have ended.
    for (const index of [11, 12, 13, 14]) ticks += Number(fields?.[index] ?? 0);
  }
  return (ticks * 1000) / CLOCK_TICKS_PER_SECOND;
}

function sumOfPs(entries: readonly ProcessEntry[], column: string): number {
  if (entries.length === 0) return 0;
  const pids = entries.map(({ pid }) => pid).join(",");
  const lines = execFileSync("ps", ["-o", column, "-p", pids], { encoding: "utf8" }).trim().split("\n");
  return lines.reduce((sum, line) => sum + (Number(line.trim()) || 0), 0);
}
