import { parseMounts } from "../../host/mounts.ts";

// Everything below these paths belongs to the sandbox alone. (/proc and /dev belong to its namespaces, and the runtime masks
// parts of them.)
const PRIVATE_PATHS = ["/proc", "/dev", "/tmp", "/run/berth", "/workspace", "/home/user"];
const REQUIRED_OPTIONS = ["ro", "nosuid", "nodev"];

// Finds the mounts in a sandbox's `mountinfo` that are shared with other sandboxes and lack a required option. A runtime that does
// not know recursive mount options ignores them. Then every sandbox could write to file systems that the operator has mounted
// below a shared folder.
export function findUnrestrictedMounts(mountinfo: string): string[] {
  return parseMounts(mountinfo)
    .filter(({ point }) => !PRIVATE_PATHS.some((path) => point === path || point.startsWith(`${path}/`)))
    .filter(({ point, options }) => !(point === "/" ? ["ro"] : REQUIRED_OPTIONS).every((option) => options.includes(option)))
    .map(({ point }) => point);
}

export const unrestrictedMountsError = (points: readonly string[]) =>
  `it does not make ${points.join(", ")} and the mounts below them read-only, nosuid and nodev; this needs Linux 5.12 and runc 1.1, crun 1.4 or newer`;
