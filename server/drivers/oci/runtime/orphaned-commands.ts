import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PRIVATE_MOUNTS_DIR } from "./private-mounts.ts";

// What a driver runs on the host for a sandbox, besides the OCI runtime itself and what sets the stage for it.
const PROGRAMS = ["mount", "umount", "mkfs.ext4", "rm", "prlimit"];

// Ends what a server that died had started for this sandbox: it would finish its work behind our back, and mount a volume
// or start a container that nobody expects any more.
export async function killOrphanedCommands(dataDir: string, runtime: string, id: string): Promise<void> {
  const programs = [...PROGRAMS, basename(runtime)];
  for (let left = find(programs, dataDir, id); left.length > 0; left = find(programs, dataDir, id)) {
    for (const pid of left) killIfThere(pid);
    await sleep(2);
  }
}

function find(programs: readonly string[], dataDir: string, id: string): number[] {
  const isOurs = (pid: string) => {
    const line = read(`/proc/${pid}/cmdline`);
    if (!line.includes(id) || !line.includes(dataDir)) return false;
    return line.includes(PRIVATE_MOUNTS_DIR) || programs.includes(read(`/proc/${pid}/comm`).trim());
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter(isOurs)
    .map(Number);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
