import { execFileSync } from "node:child_process";

// The attacker's and the victim's programs would run on other machines. The attacker's process therefore gets only processor time
// that nothing else wants. This process, which measures, never waits for a processor: otherwise the times would include its own
// waits. Both hold for the quiet times too.
export function standForOtherMachines(attackerPid: number): void {
  chrt("--idle", 0, attackerPid);
  chrt("--fifo", 1, process.pid);
}

// Applies to all threads. Programs that they start have the usual policy. Some control groups allow no real-time priority; the
// times are then longer in both cases.
function chrt(policy: "--idle" | "--fifo", priority: number, pid: number): void {
  try {
    execFileSync("chrt", [policy, "--reset-on-fork", "--all-tasks", "--pid", String(priority), String(pid)]);
  } catch (error) {
    console.error(`The measurement includes waits for a processor: ${String(error)}`);
  }
}
