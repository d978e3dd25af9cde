import { readFileSync } from "node:fs";
import { listNames, readText } from "../../io/read-or-empty.ts";

// One process as the kernel lists it. A pid alone is not unique over time; together with the start time it is.
export interface ListedProcess {
  pid: number;
  parent: number;
  group: number;
  session: number;
  // Counted in clock ticks since the machine started.
  startedAt: string;
  // Its processor time, and that of its children that have ended.
  cpuMs: number;
  // The memory that it uses now, with what it shares with others.
  memoryBytes: number;
}

// The kernel counts time for programs in hundredths of a second on every machine that Node runs on.
export const TICK_MS = 10;

// All processes that this one can see. Empty where there is no /proc.
export function listProcesses(): ListedProcess[] {
  return listNames("/proc").flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []));
}

// The variables that the process was started with, as one text; empty if they cannot be read.
export const readEnvironment = (pid: number): string => readText(`/proc/${pid}/environ`);

// Those that are read, after the name.
const FIELDS = 22;

// null if there is no such process.
export function readProcess(pid: number): ListedProcess | null {
  const stat = readText(`/proc/${pid}/stat`);
  // The name of the program is in parentheses and can contain anything.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ", FIELDS);
  // A zombie has ended already.
  if (stat === "" || state === "Z" || state === "X") return null;
  const number = (index: number) => Number(fields[index]);
  return {
    pid,
    parent: number(0),
    group: number(1),
    session: number(2),
    startedAt: fields[18] ?? "",
    cpuMs: (number(10) + number(11) + number(12) + number(13)) * TICK_MS,
    memoryBytes: number(20) * pageBytes(),
  };
}

const PAGE_SIZE_ENTRY = 6n;
const USUAL_PAGE_BYTES = 4096;
let knownPageBytes: number | undefined;

// Some machines have larger pages than the usual ones. The kernel gives each program a table of numbers and values with its page size.
function pageBytes(): number {
  return (knownPageBytes ??= readPageBytes());
}

function readPageBytes(): number {
  try {
    const table = readFileSync("/proc/self/auxv");
    for (let at = 0; at + 16 <= table.length; at += 16)
      if (table.readBigUInt64LE(at) === PAGE_SIZE_ENTRY) return Number(table.readBigUInt64LE(at + 8));
  } catch {
    // There is no /proc, or one without this table.
  }
  return USUAL_PAGE_BYTES;
}
