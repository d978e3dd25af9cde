import { readFileSync } from "node:fs";
import { mustRun, run } from "./run.ts";

export interface Mount {
  point: string;
  // The number of the mounted device, such as 7:3.
  device: string;
  options: readonly string[];
  // The kernel no longer writes to the file system, which may be because of an error.
  isReadOnly: boolean;
}

// Parses /proc/{pid}/mountinfo. The kernel escapes spaces and similar characters as octal numbers.
export function parseMounts(mountinfo: string): Mount[] {
  const lines = mountinfo.matchAll(/^\d+ \d+ (\d+:\d+) \S+ (\S+) (\S+)(?:.* - \S+ \S+ (\S+))?/gm);
  return [...lines].map(([, device = "", point = "", options = "", ofFileSystem = ""]) => ({
    point: point.replace(/\\([0-7]{3})/g, (_match, octal: string) => String.fromCharCode(parseInt(octal, 8))),
    options: options.split(","),
    // Newer kernels have a word of their own for a file system that met an error.
    isReadOnly: ofFileSystem.split(",").some((option) => option === "ro" || option === "emergency_ro"),
    device,
  }));
}

// The mounts in the mount namespace of this process.
const readMounts = (): Mount[] => parseMounts(readFileSync("/proc/self/mountinfo", "utf8"));

export const readMountPoints = (): string[] => readMounts().map(({ point }) => point);

// Several mounts can be stacked on one point.
export const findMounts = (mountPoint: string): Mount[] => readMounts().filter(({ point }) => point === mountPoint);

// The mount points of file systems that are read-only.
export const readOnlyMountPoints = (): Set<string> =>
  new Set(
    readMounts()
      .filter(({ isReadOnly }) => isReadOnly)
      .map(({ point }) => point),
  );

export const isMounted = (mountPoint: string) => findMounts(mountPoint).length > 0;

// If a process of the host still uses the mount, such as the shell of an operator, the mount disappears from the tree now and
// is released when that process leaves it. No-op if the mount does not exist: the `umount` of a server that was killed may still run.
export async function unmount(mountPoint: string): Promise<void> {
  const { code } = await run("umount", [mountPoint]);
  if (code === 0 || !isMounted(mountPoint)) return;
  try {
    await mustRun("umount", ["--lazy", mountPoint]);
  } catch (error) {
    if (isMounted(mountPoint)) throw error;
  }
}
