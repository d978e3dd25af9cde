import { readFileSync } from "node:fs";

// Milliseconds of processor time that this sandbox has used since it was started, by its control group. null: the sandbox does not see
// its control group.
export function readProcessorMs(): number | null {
  const unified = /^usage_usec (\d+)$/m.exec(read("/sys/fs/cgroup/cpu.stat"))?.[1];
  if (unified !== undefined) return Number(unified) / 1000;
  const nanoseconds = /^\d+$/.exec(read("/sys/fs/cgroup/cpuacct/cpuacct.usage").trim())?.[0];
  return nanoseconds === undefined ? null : Number(nanoseconds) / 1e6;
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
