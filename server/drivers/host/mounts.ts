import { readFileSync } from "node:fs";
import { callSystem } from "./run.ts";

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

export const findMounts = (mountPoint: string): Mount[] => readMounts().filter(({ point }) => point === mountPoint);

// The mount points of file systems that are read-only.
export const readOnlyMountPoints = (): Set<string> =>
  new Set(
    readMounts()
      .filter(({ isReadOnly }) => isReadOnly)
      .map(({ point }) => point),
  );

export const isMounted = (mountPoint: string) => findMounts(mountPoint).length > 0;

// Releases every mount at this point: several can be stacked there. If a process of the host still uses one, such as the shell of an
// operator, it disappears from the tree now and is released when that process leaves it. No-op if there is none: another process may
// just have released it.
export const unmount = (mountPoint: string): Promise<void> => callSystem("unmount", mountPoint);
