import { readdirSync, statSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import { signalIfRunning } from "../../host/signals.ts";
import { PRIVATE_MOUNTS_DIR } from "./private-mounts.ts";

// The programs that the driver runs on the host for a sandbox, besides the OCI runtime and what prepares its private mounts.
const PROGRAMS = ["mount", "umount", "mkfs.ext4", "rm", "prlimit", "nsenter", "nice"];

// Kills the commands that a dead server has started for a sandbox. They would otherwise finish while we work, and mount a volume
// or start a container that is no longer expected.
export interface OrphanedCommands {
  kill(id: string): Promise<void>;
}

export function createOrphanedCommands(dataDir: string, runtime: string): OrphanedCommands {
  const programs = [...PROGRAMS, basename(runtime)];
  // At this point, all commands belong to a dead server. Later, those for our own sandboxes, and for the canary, whose folder is in ours,
  // would count too, and every sandbox would scan all processes of the machine.
  const exist = findCommands(programs, dataDir).length > 0;
  return {
    async kill(id) {
      if (!exist) return;
      for (let pids = findCommands(programs, dataDir, id); pids.length > 0; pids = findCommands(programs, dataDir, id)) {
        for (const pid of pids) signalIfRunning(pid, "SIGKILL");
        await sleep(2);
      }
    },
  };
}

function findCommands(programs: readonly string[], dataDir: string, id = ""): number[] {
  const isOurs = (pid: string) => {
    // Reading the command line waits for the process's memory map, which a sandbox that forks without end keeps locked for
    // seconds. The server's own commands run as the server's user, and no process of a sandbox does.
    if (statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid !== process.getuid?.()) return false;
    const line = readFileIfReadable(`/proc/${pid}/cmdline`) ?? "";
    if (!line.includes(id) || !line.includes(dataDir)) return false;
    return line.includes(PRIVATE_MOUNTS_DIR) || programs.includes((readFileIfReadable(`/proc/${pid}/comm`) ?? "").trim());
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter(isOurs)
    .map(Number);
}
