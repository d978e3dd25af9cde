import { readProcess } from "./process-table.ts";

const GRACE_MS = 2000;

// Lets the processes of a group end by themselves first, for example to remove their lock files, and kills those that are left after a
// while, even if the one that leads the group has ended.
export function stopGroup(group: number): void {
  const leader = readProcess(group)?.startedAt;
  signalGroup(group, "SIGTERM");
  setTimeout(() => {
    // The number belongs to this group while it has processes. After that, another process may have it.
    const now = readProcess(group)?.startedAt;
    if (now === undefined || now === leader) signalGroup(group, "SIGKILL");
  }, GRACE_MS).unref();
}

// Sends a signal to the process group that `pid` leads. No-op if it has already exited.
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  if (send(-pid, signal)) return;
  // A child that was forked just now does not lead its group yet. Otherwise the processes have exited since the caller's check.
  if (readProcess(pid)?.parent === process.pid) send(pid, signal);
}

// False if there is no such process or group.
function send(target: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    return false;
  }
}
