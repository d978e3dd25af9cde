import { execFile } from "node:child_process";
import { rmSync, statSync } from "node:fs";
import { promisify } from "node:util";
import { reserveFileOf } from "../disk-space.ts";

const execute = promisify(execFile);
const allocate = (args: readonly string[]) => execute("fallocate", args);

// Allocates space that is not used. When the disk is full it is released, so that the kernel can still write what sandboxes have
// written before they were paused. A file system that cannot allocate without writing has no reserve.
export async function takeDiskReserve(dataDir: string, bytes: number): Promise<void> {
  if (bytes > 0) await allocate(["-l", `${bytes}`, reserveFileOf(dataDir)]).catch(() => releaseDiskReserve(dataDir));
}

export function releaseDiskReserve(dataDir: string): void {
  rmSync(reserveFileOf(dataDir), { force: true });
}

// Makes the kernel write everything that it holds in memory.
export async function flushDisks(): Promise<void> {
  await execute("sync").catch(() => {});
}

const STORE_BYTES = 16 * 2 ** 20;

// Allocates space behind the end of the files of an SQLite database, so that commits succeed on a full disk. SQLite keeps the
// write-ahead log for as long as the database is open.
export async function reserveForStore(file: string): Promise<void> {
  for (const path of [file, `${file}-wal`]) {
    const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: 0 };
    await allocate(["--keep-size", "-l", `${size + STORE_BYTES}`, path]).catch(() => {});
  }
}
