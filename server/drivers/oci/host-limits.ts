import { readFileSync } from "node:fs";

// What the server itself lives under. Without a capability that many places withhold from root, a sandbox cannot be given
// more open files than the server may have, nor a better chance than the server's when memory runs out.
export function readHostLimits(): { openFiles: number; oomScore: number } {
  const openFiles = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return {
    openFiles: openFiles === undefined || openFiles === "unlimited" ? Infinity : Number(openFiles),
    oomScore: Number(readFileSync("/proc/self/oom_score_adj", "utf8")),
  };
}
