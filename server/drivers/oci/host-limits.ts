import { readFileSync } from "node:fs";

// In one sandbox. The kernel has some 3,000 for all sandboxes together (kernel.pty.max).
export const PSEUDO_TERMINALS = 64;
const OPEN_FILES = 16_384;
const FEWEST_OPEN_FILES = 1024;
// Of all files that the machine can have open, all processes of one sandbox together get no more.
const SHARE_OF_FILES = 1 / 4;

// What the server itself lives under. Without a capability that many places withhold from root, a sandbox cannot be given
// more open files than the server may have, nor a better chance than the server's when memory runs out.
export interface HostLimits {
  openFiles: number;
  oomScore: number;
  // Of the whole machine; systemd lifts it.
  fileMax: number;
}

export function readHostLimits(): HostLimits {
  const openFiles = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return {
    openFiles: openFiles === undefined || openFiles === "unlimited" ? Infinity : Number(openFiles),
    oomScore: Number(readFileSync("/proc/self/oom_score_adj", "utf8")),
    fileMax: Number(readFileSync("/proc/sys/fs/file-max", "utf8")),
  };
}

// How many files each process of a sandbox may have open.
export function openFilesOf({ pids }: { pids: number }, { openFiles, fileMax }: HostLimits): number {
  const share = Math.max(FEWEST_OPEN_FILES, Math.floor((fileMax * SHARE_OF_FILES) / pids));
  return Math.min(OPEN_FILES, openFiles, share);
}
