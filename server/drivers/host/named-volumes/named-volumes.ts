import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { AppError, isVolumeId, type VolumeId } from "@berth/contract";
import { createKeyedLock } from "../../../fairness/keyed-lock.ts";
import type { DriverVolumes, SandboxVolume } from "../../driver.ts";
import { findMounts, isMounted, readMountPoints, unmount } from "../mounts.ts";
import { mustRun } from "../run.ts";
import { openDisk, untilDiskReleased } from "../disks/sandbox-disks.ts";
import { mountMapped } from "./mount-mapped.ts";

// The volumes of partners on this machine. Each is a file system in a file, as a sandbox's disk is, or a plain folder without loop
// devices. Every sandbox that uses it has its own mount of it. The kernel knows that they are one file system and releases it
// with the last mount, so nothing counts the users.
export interface NamedVolumes extends DriverVolumes {
  // Mounts the volume for the sandbox in `folder`, and returns where. Creates the volume on first use. Idempotent.
  attach(folder: string, volume: SandboxVolume, options: AttachOptions): Promise<string>;
  // Releases all mounts of the sandbox in `folder`. No-op if there are none.
  detach(folder: string): Promise<void>;
  // The numbers of the loop devices that the sandbox in `folder` may write to.
  devicesIn(folder: string): string[];
}

export interface AttachOptions {
  // The user who owns the volume, on disk.
  owner: number;
  // The host's id of the sandbox's user, if files cannot be shown with other ids. Absent: `owner`.
  hostOwner?: number;
  // The path of the sandbox's user namespace, whose ids the volume shows. Absent if the sandbox has the ids of the host.
  userNamespace?: string | undefined;
  signal: AbortSignal;
}

export function createNamedVolumes({ folder: parent, bounded }: { folder: string; bounded: boolean }): NamedVolumes {
  const withLock = createKeyedLock();
  const folderOf = (id: VolumeId) => join(parent, id);
  const mountsIn = (folder: string) => {
    const points = join(folder, "volumes");
    return existsSync(points) ? readMountPoints().filter((point) => point.startsWith(`${points}/`)) : [];
  };

  async function attach(folder: string, { id, mode, sizeMb }: SandboxVolume, { owner, userNamespace, signal }: AttachOptions) {
    const target = join(folder, "volumes", id);
    mkdirSync(target, { recursive: true, mode: 0o700 });
    mkdirSync(folderOf(id), { recursive: true, mode: 0o700 });
    // An earlier start may have mounted it for other ids.
    if (isMounted(target)) await unmount(target);
    const disk = await openDisk(folderOf(id), { bounded, diskMb: sizeMb, signal });
    try {
      prepareRoot(disk, owner);
      await mountMapped(disk, target, { mode, userNamespace });
    } finally {
      if (isMounted(disk)) await unmount(disk);
    }
    return target;
  }

  async function remove(id: VolumeId): Promise<void> {
    const folder = folderOf(id);
    if (!existsSync(folder)) return;
    // A server that was killed may have left this mount.
    const disk = join(folder, "volume");
    if (isMounted(disk)) await unmount(disk);
    if (!(await untilDiskReleased(folder)))
      throw new AppError("sandbox_failed", { message: "The volume is still mounted", cause: new Error(`${folder} is mounted`) });
    await mustRun("rm", ["-rf", "--one-file-system", "--", folder]);
  }

  return {
    paths: "all",
    attach: (folder, volume, options) => withLock(volume.id, () => attach(folder, volume, options)),
    async detach(folder) {
      for (const point of mountsIn(folder)) await unmount(point);
      const points = join(folder, "volumes");
      if (!existsSync(points)) return;
      // Fails if a mount is left, and then the files of the volume stay.
      for (const name of readdirSync(points)) rmdirSync(join(points, name));
      rmdirSync(points);
    },
    devicesIn: (folder) =>
      mountsIn(folder)
        .flatMap(findMounts)
        .filter(({ device, options }) => device.startsWith("7:") && !options.includes("ro"))
        .map(({ device }) => device),
    remove: (id) => withLock(id, () => remove(id)),
    list: async () => (existsSync(parent) ? readdirSync(parent).filter(isVolumeId) : []),
  };
}

// The volume belongs to its user, who may have changed its mode.
function prepareRoot(disk: string, owner: number): void {
  if (statSync(disk).uid !== owner) chownSync(disk, owner, owner);
  chmodSync(disk, 0o755);
  rmSync(join(disk, "lost+found"), { recursive: true, force: true });
}
