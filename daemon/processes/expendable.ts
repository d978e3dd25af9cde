import { writeFileSync } from "node:fs";

// The most there is. The daemon maps the whole of Node, which counts against it, so the distance must be wide.
const SCORE = "1000";

// When the sandbox runs out of memory the kernel looks for a victim. What the daemon starts, and what that starts in
// turn, goes before the daemon itself, whose end would be the end of everything.
export function markExpendable(pid: number | undefined): void {
  if (pid === undefined || process.platform !== "linux") return;
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, SCORE);
  } catch {
    // It has ended already.
  }
}
