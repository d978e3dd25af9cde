import type { VolumeMode } from "@berth/contract";
import { parseMounts } from "../../host/mounts.ts";

// Everything below these paths belongs to the sandbox alone. (/proc and /dev belong to its namespaces, and the runtime masks
// parts of them.)
const PRIVATE_PATHS = ["/proc", "/dev", "/tmp", "/run/berth", "/workspace", "/home/user"];
// Folders for the mount points of volumes, which are in the sandbox's memory.
export const VOLUME_PARENTS = ["/mnt", "/data"];
// Folders of a writable root with mount points in them.
export const KEPT_FOLDERS = ["/home", "/opt", ...VOLUME_PARENTS];
const WRITABLE = new Set(["/", "/run", ...KEPT_FOLDERS]);
const REQUIRED_OPTIONS = ["ro", "nosuid", "nodev"];

interface MountedPath {
  path: string;
  mode: VolumeMode;
}

interface OwnMounts {
  volumes?: readonly MountedPath[];
  // The root belongs to the sandbox alone.
  writable?: boolean;
}

// Finds the mounts in a sandbox's `mountinfo` that are shared with other sandboxes and lack a required option. A runtime that does
// not know recursive mount options ignores them. Then every sandbox could write to file systems that the operator has mounted
// below a shared folder.
export function findUnrestrictedMounts(mountinfo: string, { volumes = [], writable = false }: OwnMounts = {}): string[] {
  const required = (point: string) => {
    const volume = volumes.find(({ path }) => path === point);
    const isWritable = volume?.mode === "rw" || VOLUME_PARENTS.includes(point) || (writable && WRITABLE.has(point));
    if (isWritable) return ["nosuid", "nodev"];
    if (!volume && PRIVATE_PATHS.some((path) => point === path || point.startsWith(`${path}/`))) return [];
    return point === "/" ? ["ro"] : REQUIRED_OPTIONS;
  };
  return parseMounts(mountinfo)
    .filter(({ point, options }) => !required(point).every((option) => options.includes(option)))
    .map(({ point }) => point);
}

export const unrestrictedMountsError = (points: readonly string[]) =>
  `it does not make ${points.join(", ")} and the mounts below them read-only, nosuid and nodev; this needs Linux 5.12 and runc 1.1, crun 1.4 or newer`;
