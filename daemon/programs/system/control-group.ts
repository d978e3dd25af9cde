import { readText } from "../../io/read-or-empty.ts";

// The use of this sandbox by its control group; null if the sandbox does not see its control group.

// Milliseconds of processor time since the sandbox was started.
export function readProcessorMs(): number | null {
  const unified = field("/sys/fs/cgroup/cpu.stat", "usage_usec");
  if (unified !== null) return unified / 1000;
  const nanoseconds = number("/sys/fs/cgroup/cpuacct/cpuacct.usage");
  return nanoseconds === null ? null : nanoseconds / 1e6;
}

// Memory without the page cache that the kernel can drop at any time.
export function readMemoryBytes(): number | null {
  const unified = number("/sys/fs/cgroup/memory.current");
  const used = unified ?? number("/sys/fs/cgroup/memory/memory.usage_in_bytes");
  if (used === null) return null;
  const reclaimable =
    unified === null
      ? field("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file")
      : field("/sys/fs/cgroup/memory.stat", "inactive_file");
  return Math.max(0, used - (reclaimable ?? 0));
}

function number(file: string): number | null {
  const text = readText(file).trim();
  return /^\d+$/.test(text) ? Number(text) : null;
}

function field(file: string, name: string): number | null {
  const digits = new RegExp(`^${name} (\\d+)$`, "m").exec(readText(file))?.[1];
  return digits === undefined ? null : Number(digits);
}
