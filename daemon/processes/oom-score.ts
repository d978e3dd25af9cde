import { writeFileSync } from "node:fs";

// The maximum. The daemon maps the whole of Node, which raises its own score, so the distance must be wide.
const SCORE = "1000";

// Makes the kernel's OOM killer choose this process, or one of its children, before the daemon. The sandbox cannot work
// without the daemon.
export function preferForOomKill(pid: number | undefined): void {
  if (pid === undefined || process.platform !== "linux") return;
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, SCORE);
  } catch {
    // The process has already ended.
  }
}
