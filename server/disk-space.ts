import { statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { readFileIfReadable } from "./bounded-io/read-small-file.ts";

// The free space of the file system that holds the data folder, and how much of it Berth keeps free.
export interface DiskSpace {
  freeBytes: number;
  // The free space without the part that the reserve file still has to take.
  spareBytes: number;
  // No sandbox is created below this, and sandboxes are paused below half of it.
  reserveBytes: number;
  // The file system is about to run out of inodes, so new files may fail although there is space.
  lacksInodes: boolean;
}

export type DiskLevel = "enough" | "low" | "full";

// The disk of the data folder, for the parts that depend on it.
export interface MachineDisk {
  level(): DiskLevel;
  // For calls that need more space for long: creates, forks and snapshots. Throws `server_disk_full` unless there is enough.
  admitNew(): void;
  // For calls after which a sandbox writes. Throws `server_disk_full` if the disk is full.
  admitWrites(): void;
  // Calls back after every change of the level.
  onChange(listener: (level: DiskLevel) => void): Disposable;
}

const MiB = 2 ** 20;
// A small disk keeps a smaller reserve.
const MAX_RESERVE_SHARE = 1 / 8;
const MIN_FREE_INODES = 1000;
const MIN_FREE_INODE_SHARE = 0.01;
// The unit of `stat`, whatever the file system uses.
const BLOCK_BYTES = 512;

export const RESERVE_FILE = "disk-reserve";
export const reserveFileOf = (dataDir: string): string => join(dataDir, RESERVE_FILE);

export function readDiskSpace(dataDir: string, reserveMib: number): DiskSpace {
  const { bavail, blocks, bsize, files, ffree } = statfsSync(dataDir);
  const freeBytes = bavail * bsize;
  const reserveBytes = Math.floor(Math.min(reserveMib * MiB, blocks * bsize * MAX_RESERVE_SHARE));
  const heldBytes = (statSync(reserveFileOf(dataDir), { throwIfNoEntry: false })?.blocks ?? 0) * BLOCK_BYTES;
  return {
    freeBytes,
    spareBytes: freeBytes - Math.max(0, reserveBytes - heldBytes),
    reserveBytes,
    // Some file systems have no fixed number of inodes and report 0.
    lacksInodes: files > 0 && ffree < Math.min(MIN_FREE_INODES, files * MIN_FREE_INODE_SHARE),
  };
}

// Bytes that all programs of the machine have written and the kernel still holds in memory.
export function readUnwritten(): number {
  const lines = (readFileIfReadable("/proc/meminfo") ?? "").matchAll(/^(?:Dirty|Writeback): +(\d+) kB$/gm);
  return [...lines].reduce((sum, [, kib]) => sum + Number(kib) * 1024, 0);
}

// `unwrittenBytes` are in memory, and the disk must still have room for them.
export function diskLevelOf({ spareBytes, reserveBytes, lacksInodes }: DiskSpace, unwrittenBytes = 0): DiskLevel {
  if (spareBytes - unwrittenBytes < reserveBytes / 2) return "full";
  return spareBytes - unwrittenBytes < reserveBytes || lacksInodes ? "low" : "enough";
}
