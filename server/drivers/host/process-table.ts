import { execFileSync } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { readFileIfReadable } from "../../bounded-io/read-small-file.ts";

export interface ProcessEntry {
  pid: number;
  parent: number;
  group: number;
  session: number;
  // The start time, which tells two processes apart that had the same id one after the other.
  started: string;
  state: string;
  // The name of the program. Empty on macOS, where no caller needs it.
  name: string;
}

// Every process of this machine that this user may see.
export const readProcesses = (): ProcessEntry[] => (process.platform === "linux" ? readProc() : readPs());

export function readProcess(pid: number): ProcessEntry | undefined {
  return process.platform === "linux" ? readStat(pid) : readPs().find((entry) => entry.pid === pid);
}

// Finds the process `root`, its descendants, every process that shares a session or group with one of them, and orphans whose
// current directory is in one of the `folders`. This is best effort and no isolation: a process can leave the folder.
export function findRelatedProcesses(
  root: number,
  folders: readonly string[],
  all: readonly ProcessEntry[] = readProcesses(),
): ProcessEntry[] {
  const found = new Map<number, ProcessEntry>();
  const groups = new Set<number>([root]);
  const own = all.find((entry) => entry.pid === process.pid);
  // The parent of an orphan is the first process or the user's systemd; the parent of a daemon is the server that started it.
  // Other processes with their current directory in a sandbox, such as the shell of an operator, are not part of the sandbox.
  const parents = new Set([1, process.pid, ...all.filter(({ name }) => name === "systemd").map(({ pid }) => pid)]);
  const add = (entry: ProcessEntry) => {
    found.set(entry.pid, entry);
    if (entry.group !== own?.group) groups.add(entry.group);
    if (entry.session !== own?.session) groups.add(entry.session);
  };
  // Each new process may relate others to us, so repeat until a pass finds none.
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const entry of all) {
      if (found.has(entry.pid) || entry.pid === process.pid) continue;
      const isRelated = entry.pid === root || found.has(entry.parent) || groups.has(entry.group) || groups.has(entry.session);
      if (isRelated || (parents.has(entry.parent) && hasDirectoryIn(entry.pid, folders))) add(entry);
    }
  }
  return [...found.values()];
}

function readProc(): ProcessEntry[] {
  const entries = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return entries.map((name) => readStat(Number(name))).filter((entry) => entry !== undefined);
}

function readStat(pid: number): ProcessEntry | undefined {
  const line = readFileIfReadable(`/proc/${pid}/stat`);
  if (line === undefined) return undefined;
  // The name of the program is in parentheses, and may itself contain spaces and parentheses.
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

function hasDirectoryIn(pid: number, folders: readonly string[]): boolean {
  if (process.platform !== "linux") return false;
  try {
    const current = readlinkSync(`/proc/${pid}/cwd`);
    return folders.some((folder) => current === folder || current.startsWith(`${folder}/`));
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
