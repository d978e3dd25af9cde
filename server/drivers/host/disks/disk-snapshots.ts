import { existsSync } from "node:fs";
import { join } from "node:path";
import { AppError, type SnapshotId } from "@berth/contract";
import { readDiskSpace } from "../../../disk-space.ts";
import type { TakenSnapshot } from "../../driver.ts";
import { endWatch, watchBlockWrites } from "./block-writes.ts";
import { copyImage, type Hold } from "./copy-image.ts";
import { createFolderSnapshots } from "./folder-snapshots.ts";
import type { FileRunner } from "../file-runner.ts";
import { isMounted } from "../mounts.ts";
import type { SandboxDisks } from "./sandbox-disks.ts";

// Snapshots of the disks of sandboxes.
export interface DiskSnapshots {
  // The folder of all snapshots, and that of one.
  readonly folder: string;
  folderOf(id: SnapshotId): string;
  // Copies the disk in `folder`. `hold` stops its writers, if the sandbox runs.
  take(id: SnapshotId, folder: string, hold: Hold | undefined, signal: AbortSignal): Promise<TakenSnapshot>;
  // For `SandboxDisks.open`. Throws when it is called if there is no such snapshot.
  sourceOf(id: SnapshotId | undefined): (() => string) | undefined;
  remove(id: SnapshotId): Promise<void>;
  list(): Promise<SnapshotId[]>;
}

export interface DiskSnapshotsDeps {
  dataDir: string;
  disks: Pick<SandboxDisks, "deviceOf" | "usedBytes">;
  files?: FileRunner;
  // The space that a copy has to leave free.
  diskReserveMib: number;
}

export function createDiskSnapshots({ dataDir, disks, files, diskReserveMib }: DiskSnapshotsDeps): DiskSnapshots {
  const snapshots = createFolderSnapshots(dataDir, files);

  function checkFreeSpace(bytes: number): void {
    const { spareBytes, reserveBytes } = readDiskSpace(dataDir, diskReserveMib);
    if (spareBytes < bytes + reserveBytes)
      throw new AppError("server_disk_full", { message: "The disk of the server has no room for the copy of the files" });
  }

  // A disk without a limit is a plain folder.
  async function copyFolder(id: SnapshotId, folder: string, hold: Hold | undefined, signal: AbortSignal): Promise<number> {
    const startedMs = performance.now();
    try {
      await hold?.freeze();
      await snapshots.take(id, join(folder, "volume"), ["workspace", "home"], signal);
    } finally {
      await hold?.thaw();
    }
    return hold ? performance.now() - startedMs : 0;
  }

  async function copyDisk(id: SnapshotId, folder: string, hold: Hold | undefined, signal: AbortSignal): Promise<number> {
    const [image, mountPoint] = [join(folder, "volume.img"), join(folder, "volume")];
    const device = disks.deviceOf(folder);
    const source = {
      image,
      mountPoint: isMounted(mountPoint) ? mountPoint : undefined,
      watchWrites: () => (device === undefined ? undefined : watchBlockWrites(device, id)),
      hold,
    };
    return await copyImage(source, join(await snapshots.draft(id), "volume.img"), signal);
  }

  return {
    folder: snapshots.folder,
    folderOf: snapshots.folderOf,

    async take(id, folder, hold, signal) {
      if (snapshots.has(id)) return { bytes: await snapshots.size(id, signal), frozenMs: 0 };
      const hasImage = existsSync(join(folder, "volume.img"));
      if (!hasImage && !existsSync(join(folder, "volume")))
        throw new AppError("sandbox_failed", { message: "The sandbox's files do not exist" });
      checkFreeSpace(disks.usedBytes(folder) ?? 0);
      const frozenMs = await (hasImage ? copyDisk : copyFolder)(id, folder, hold, signal);
      return { bytes: await snapshots.complete(id, signal), frozenMs };
    },

    sourceOf(id) {
      if (id === undefined) return undefined;
      return () => {
        const folder = snapshots.folderOf(id);
        if (!snapshots.has(id)) throw new AppError("sandbox_failed", { message: "The snapshot does not exist" });
        checkFreeSpace(disks.usedBytes(folder) ?? 0);
        return folder;
      };
    },

    async remove(id) {
      endWatch(id);
      await snapshots.remove(id);
    },
    list: snapshots.list,
  };
}
