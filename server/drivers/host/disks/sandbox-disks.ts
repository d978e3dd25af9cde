import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "@berth/contract";
import { plainRunner, type FileRunner } from "../file-runner.ts";
import { readMountPoints, readOnlyMountPoints, unmount } from "../mounts.ts";
import { mustRun, run } from "../run.ts";
import { giveFiles, isRestoring, restoreDisk } from "./restore-disk.ts";
import { repairImage } from "./repair-image.ts";
import { makeImage } from "./disk-image.ts";
import { deviceAt, findLoopDevice, loopDevice, mountImage, untilReleased } from "./loop-devices.ts";

// The disk of a sandbox: a sparse file that holds a file system, mounted while the sandbox runs. It limits bytes and inodes, and
// destroying it means deleting one file, however hostile its content is. Without loop devices it is a plain folder without
// a limit.
export interface SandboxDisks {
  readonly bounded: boolean;
  // Opens the disk in `folder`. Idempotent. Only a call with `create` creates it; without it, a missing disk is `disk_missing`. A new
  // disk is empty, or has the files of the snapshot in the folder that `source` returns, and their size.
  open(folder: string, options: OpenOptions): Promise<SandboxDisk>;
  // Which of these folders have an open disk that has turned read-only, because the host could not write to its image.
  failedAmong(folders: readonly string[]): Set<string>;
  // Whether the disk in `folder` is or is about to be read-only: after a failed write, the kernel says so only to the next writer.
  hasFailed(folder: string): Promise<boolean>;
  // Makes the kernel write the disk in `folder` and the volumes that are mounted there to the host's disk. Rejects if it cannot.
  flush(folder: string, signal: AbortSignal): Promise<void>;
  // The number of the loop device of an open disk, such as 7:3. undefined if it has none.
  deviceOf(folder: string): string | undefined;
  // The space that the disk in `folder` occupies on the host's disk. null if it is a plain folder or does not exist.
  usedBytes(folder: string): number | null;
  // Flushes the disk and releases its mount and loop device. No-op if it is not open.
  close(folder: string): Promise<void>;
}

export interface OpenOptions {
  create?: { diskMb: number; source?: (() => string) | undefined };
  // The user of the sandbox.
  owner: number;
  // The sandbox has a writable root, and so more than one user: the files of a snapshot keep their owners, except those of the user of
  // the sandbox from which it was taken. Otherwise all belong to `owner`.
  keepsOwners?: boolean;
  signal: AbortSignal;
}

export interface SandboxDisk {
  workspace: string;
  home: string;
  // For the changes of programs to writable roots. Does not exist if the sandbox never had such a root, or if the disk is full. Programs
  // cannot reach it. It belongs to the sandbox's user, so that a copy of the disk tells which files are the user's.
  rootChanges: string;
}

// The unit of `stat`, whatever the file system uses.
const BLOCK_BYTES = 512;
const FLUSH_TIMEOUT_MS = 10 * 60_000;

export interface SandboxDisksOptions {
  bounded: boolean;
  files?: FileRunner;
}

export function createSandboxDisks({ bounded, files = plainRunner }: SandboxDisksOptions): SandboxDisks {
  function failedAmong(folders: readonly string[]): Set<string> {
    const points = readOnlyMountPoints();
    return new Set(folders.filter((folder) => points.has(join(folder, "volume"))));
  }

  return {
    bounded,
    async open(folder, { create, owner, keepsOwners = false, signal }) {
      const isNew = !hasDisk(folder);
      if (isNew && !create) throw new AppError("disk_missing");
      mkdirSync(join(folder, "volume"), { recursive: true });
      if (isNew && create?.source) await restoreDisk(files, folder, create.source(), signal);
      const mountPoint = await openDisk(folder, { bounded, diskMb: create?.diskMb ?? 0, signal });
      const at = (name: string) => join(mountPoint, name);
      const disk = { workspace: at("workspace"), home: at("home"), rootChanges: at("roots") };
      const paths = [disk.workspace, disk.home];
      if (isRestoring(folder)) await giveFiles(files, folder, { paths, rootChanges: disk.rootChanges, owner, keepsOwners }, signal);
      if (keepsOwners) prepareRootChanges(disk.rootChanges, owner);
      await prepareFolders(files, paths, owner, signal);
      return disk;
    },
    failedAmong,
    async hasFailed(folder) {
      const now = new Date();
      // A small write to a folder that the sandbox does not see.
      await utimes(join(folder, "volume"), now, now).catch(() => undefined);
      return failedAmong([folder]).size > 0;
    },
    async flush(folder, signal) {
      const points = readMountPoints().filter(
        (point) => point === join(folder, "volume") || point.startsWith(`${join(folder, "volumes")}/`),
      );
      if (points.length > 0) await mustRun("sync", ["-f", "--", ...points], { signal, timeoutMs: FLUSH_TIMEOUT_MS });
    },
    deviceOf: (folder) => deviceAt(join(folder, "volume")),
    usedBytes(folder) {
      const stats = statSync(join(folder, "volume.img"), { throwIfNoEntry: false });
      return stats ? stats.blocks * BLOCK_BYTES : null;
    },
    async close(folder) {
      const [mountPoint, image] = [join(folder, "volume"), join(folder, "volume.img")];
      const mounted = deviceAt(mountPoint);
      const device = mounted === undefined ? findLoopDevice(image) : loopDevice(mounted);
      if (device === undefined) return;
      await unmount(mountPoint);
      // The kernel releases the loop device shortly after the last copy of the mount is gone. Another process may keep a copy
      // for longer, because every new mount namespace starts with one; then the device is released with that process.
      await untilReleased(device, image);
    },
  };
}

// Creates the folders if they do not exist. The user may have changed the mode: a sandbox that cannot enter its workspace cannot start.
async function prepareFolders(files: FileRunner, paths: readonly string[], owner: number, signal: AbortSignal): Promise<void> {
  if (!files.direct) {
    const id = String(files.idOf(owner));
    await files.run("install", ["--directory", "--mode=700", `--owner=${id}`, `--group=${id}`, "--", ...paths], { signal });
    return;
  }
  for (const path of paths) {
    mkdirSync(path, { recursive: true });
    chownSync(path, owner, owner);
    chmodSync(path, 0o700);
  }
}

function prepareRootChanges(path: string, owner: number): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    chownSync(path, owner, owner);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}

// Mounts the image in `folder`, which is created on first use, and returns its mount point. Without loop devices that is a plain folder.
export async function openDisk(folder: string, { bounded, diskMb, signal }: DiskOptions): Promise<string> {
  const [mountPoint, image] = [join(folder, "volume"), join(folder, "volume.img")];
  const isNew = !hasDisk(folder);
  mkdirSync(mountPoint, { recursive: true });
  if (((bounded && isNew) || existsSync(image)) && deviceAt(mountPoint) === undefined) {
    // A new image cannot be attached to a loop device yet.
    const attached = isNew ? undefined : findLoopDevice(image);
    if (isNew) await makeImage(image, diskMb, signal);
    else if (attached === undefined) await repairImage(image, signal);
    await mountImage(image, mountPoint, attached);
  }
  return mountPoint;
}

// An image, or files in a plain folder.
function hasDisk(folder: string): boolean {
  const mountPoint = join(folder, "volume");
  return existsSync(join(folder, "volume.img")) || (existsSync(mountPoint) && readdirSync(mountPoint).length > 0);
}

export interface DiskOptions {
  bounded: boolean;
  diskMb: number;
  signal: AbortSignal;
}

// Waits until no mount uses the image in `folder`. False if one still does after the timeout.
export async function untilDiskReleased(folder: string): Promise<boolean> {
  const image = join(folder, "volume.img");
  const device = findLoopDevice(image);
  return device === undefined || (await untilReleased(device, image));
}

// Checks whether disks can be bounded here, by creating one.
export async function probeDisks(scratch: string): Promise<{ bounded: boolean; reason: string }> {
  mkdirSync(scratch, { recursive: true });
  const disks = createSandboxDisks({ bounded: true });
  try {
    await disks.open(scratch, { create: { diskMb: 16 }, owner: 0, signal: AbortSignal.timeout(10_000) });
    return { bounded: true, reason: "loop images limit the size of disks" };
  } catch (error) {
    return { bounded: false, reason: `disks have no size limit, because a loop image could not be created (${firstLine(error)})` };
  } finally {
    await disks.close(scratch).catch(() => undefined);
    await run("rm", ["-rf", "--one-file-system", "--", scratch]);
  }
}

const firstLine = (error: unknown) => (error instanceof Error ? error.message : String(error)).split("\n")[0];
