import { listNames, readText } from "../io/read-or-empty.ts";

// One process as the kernel lists it. A pid alone is not unique over time; together with the start time it is.
export interface ListedProcess {
  pid: number;
  parent: number;
  group: number;
  session: number;
  // Counted in clock ticks since the machine started.
  startedAt: string;
}

// All processes that this one can see. Empty where there is no /proc.
export function listProcesses(): ListedProcess[] {
  return listNames("/proc").flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []));
}

// The variables that the process was started with, as one text; empty if they cannot be read.
export const readEnvironment = (pid: number): string => readText(`/proc/${pid}/environ`);

function readProcess(pid: number): ListedProcess | null {
  const stat = readText(`/proc/${pid}/stat`);
  // The name of the program is in parentheses and can contain anything.
  const [state, parent, group, session, ...more] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // A zombie has ended already.
  if (stat === "" || state === "Z" || state === "X") return null;
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), startedAt: more[15] ?? "" };
}
