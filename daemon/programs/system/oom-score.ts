import { readFileSync, writeFileSync } from "node:fs";

// The maximum. The daemon maps the whole of Node, which raises its own score, so the distance must be wide.
const SCORE = "1000";

// Makes the kernel's OOM killer choose this process, or one of its children, before the daemon. The sandbox cannot work
// without the daemon. Later children inherit the score. Those that the process started before it got the score, because the
// daemon had to wait for a processor, are changed one by one.
export function preferForOomKill(pid: number | undefined): void {
  if (pid === undefined || process.platform !== "linux") return;
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, SCORE);
    for (const child of readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean))
      preferForOomKill(Number(child));
  } catch {
    // The process has already ended, or the kernel does not list children.
  }
}
