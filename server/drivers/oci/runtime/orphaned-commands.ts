import { readdirSync, statSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import { readProcess } from "../../host/process-table.ts";
import { signalIfRunning } from "../../host/signals.ts";
import { PRIVATE_MOUNTS_DIR } from "./private-mounts.ts";

// The programs that the driver runs on the host for a sandbox, besides the OCI runtime and what prepares its private mounts.
const PROGRAMS = ["mount", "umount", "mkfs.ext4", "rm", "prlimit", "nsenter", "nice"];
// The worker of host/run.ts, with the id of its server.
const WORKER = /\/run-worker\.ts\0(\d+)\0$/;

// Kills the commands that a dead server has started for a sandbox, and waits for its system calls. They would otherwise finish while we
// work, and mount a volume or start a container that is no longer expected.
export interface OrphanedCommands {
  kill(id: string): Promise<void>;
}

export function createOrphanedCommands(dataDir: string, runtime: string): OrphanedCommands {
  const programs = [...PROGRAMS, basename(runtime)];
  // At this point, all commands belong to a dead server. Later, those for our own sandboxes, and for the canary, whose folder is in ours,
  // would count too, and every sandbox would scan all processes of the machine.
  const exist = findCommands(programs, dataDir).length > 0 || areCallsLeft();
  return {
    async kill(id) {
      if (!exist) return;
      for (let pids = findCommands(programs, dataDir, id); pids.length > 0; pids = findCommands(programs, dataDir, id)) {
        for (const pid of pids) signalIfRunning(pid, "SIGKILL");
        await sleep(2);
      }
      // The kernel interrupts no system call, so a signal would only hide the process that makes it.
      while (areCallsLeft()) await sleep(2);
    },
  };
}

function findCommands(programs: readonly string[], dataDir: string, id = ""): number[] {
  return findProcesses((line, pid) => {
    if (!line.includes(id) || !line.includes(dataDir)) return false;
    return line.includes(PRIVATE_MOUNTS_DIR) || programs.includes((readFileIfReadable(`/proc/${pid}/comm`) ?? "").trim());
  });
}

// Whether a worker is still there whose server is dead. It only waits for the end of its calls.
function areCallsLeft(): boolean {
  const workers = findProcesses((line, pid) => {
    const server = WORKER.exec(line)?.[1];
    return server !== undefined && (readProcess(pid)?.parent ?? Number(server)) !== Number(server);
  });
  return workers.length > 0;
}

function findProcesses(matches: (commandLine: string, pid: number) => boolean): number[] {
  const isOurs = (pid: number) => {
    // Reading the command line waits for the process's memory map, which a sandbox that forks without end keeps locked for
    // seconds. The server's own commands run as the server's user, and no process of a sandbox does.
    if (statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid !== process.getuid?.()) return false;
    return matches(readFileIfReadable(`/proc/${pid}/cmdline`) ?? "", pid);
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(isOurs);
}
