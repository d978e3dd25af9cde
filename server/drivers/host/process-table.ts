import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { execFileSync } from "node:child_process";

export interface ProcessEntry {
  pid: number;
  parent: number;
  group: number;
  session: number;
  // Differs between two processes that had the same id one after the other.
  started: string;
  state: string;
  // The program's name; empty where it is not needed.
  name: string;
}

// Every process of this machine that we may look at.
export const readProcesses = (): ProcessEntry[] => (process.platform === "linux" ? readProc() : readPs());

export function readProcess(pid: number): ProcessEntry | undefined {
  return process.platform === "linux" ? readStat(pid) : readPs().find((entry) => entry.pid === pid);
}

// The processes that belong to `root`: its descendants, whatever shares a session or group with one of them, and orphans
// that work in one of the `folders`. The last is a courtesy, not a wall: who changes folders is not found.
export function findRelatedProcesses(
  root: number,
  folders: readonly string[],
  all: readonly ProcessEntry[] = readProcesses(),
): ProcessEntry[] {
  const family = new Map<number, ProcessEntry>();
  const groups = new Set<number>([root]);
  const own = all.find((entry) => entry.pid === process.pid);
  const admit = (entry: ProcessEntry) => {
    family.set(entry.pid, entry);
    if (entry.group !== own?.group) groups.add(entry.group);
    if (entry.session !== own?.session) groups.add(entry.session);
  };
  for (let before = -1; before !== family.size;) {
    before = family.size;
    for (const entry of all) {
      if (family.has(entry.pid) || entry.pid === process.pid) continue;
      const related = entry.pid === root || family.has(entry.parent) || groups.has(entry.group) || groups.has(entry.session);
      if (related || (mayBeOurs(entry, all) && worksIn(entry.pid, folders))) admit(entry);
    }
  }
  return [...family.values()];
}

// A process whose parent has died belongs to the first process, or to the session's systemd; a daemon, to the server that
// started it. Others that happen to work in a sandbox's folder, such as the operator's own shell, are none of our business.
const mayBeOurs = ({ parent }: ProcessEntry, all: readonly ProcessEntry[]) =>
  parent === 1 || parent === process.pid || all.some(({ pid, name }) => pid === parent && name === "systemd");

function readProc(): ProcessEntry[] {
  const entries = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return entries.map((name) => readStat(Number(name))).filter((entry) => entry !== undefined);
}

function readStat(pid: number): ProcessEntry | undefined {
  let line: string;
  try {
    line = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The program's name is in parentheses and may hold spaces and parentheses of its own.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const name = line.slice(line.indexOf("(") + 1, line.lastIndexOf(")"));
  return {
    pid,
    name,
    state: fields[0]!,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    started: fields[19]!,
  };
}

function worksIn(pid: number, folders: readonly string[]): boolean {
  if (process.platform !== "linux") return false;
  try {
    const folder = readlinkSync(`/proc/${pid}/cwd`);
    return folders.some((known) => folder === known || folder.startsWith(`${known}/`));
  } catch {
    return false;
  }
}

function readPs(): ProcessEntry[] {
  const table = execFileSync("ps", ["-A", "-o", "pid=,ppid=,pgid=,state=,lstart="], {
    encoding: "utf8",
    env: { LC_ALL: "C", PATH: "/bin:/usr/bin" },
  });
  return table
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length >= 9)
    .map(([pid, parent, group, state, ...started]) => ({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      session: Number(group),
      state: state!,
      name: "",
      started: started.join(" "),
    }));
}
