import { totalmem } from "node:os";
import { AppError } from "@berth/contract";
import { SECOND, type Clock } from "../clock.ts";
import { diskLevelOf, readDiskSpace, readUnwritten, type DiskLevel, type DiskSpace, type MachineDisk } from "../disk-space.ts";
import { createListeners } from "../listeners.ts";
import type { Log } from "../log.ts";
import { flushDisks, releaseDiskReserve, reserveForStore, takeDiskReserve } from "./disk-reserve.ts";

// Watches the disk of the data folder. A disk that runs full is `low` first: nothing new may be created. Then it is `full`: sandboxes
// are paused while there is still room for everything that they have written. It stays full until it has enough space again.
export interface DiskWatch extends MachineDisk, AsyncDisposable {
  space(): DiskSpace;
}

export interface DiskWatchDeps {
  dataDir: string;
  reserveMib: number;
  // The SQLite database, which gets a reserve of its own. null if the store is elsewhere.
  storeFile: string | null;
  // Bytes that sandboxes have written and the kernel still holds in memory.
  unwrittenBytes?: (() => number) | undefined;
  // The machine's memory, and how much of it holds data that the kernel has not written to a disk yet. Absent: that of this machine.
  memory?: { totalBytes: () => number; unwrittenBytes: () => number };
  clock: Clock;
  log: Log;
}

// Another program can fill the disk at once, and what a sandbox writes until we notice has to fit into the reserve.
const TICK_MS = 100;
const RETAKE_MS = 60 * SECOND;
// A virtual machine can get more memory.
const MEMORY_MS = 60 * SECOND;

export async function openDiskWatch(deps: DiskWatchDeps): Promise<DiskWatch> {
  const { dataDir, reserveMib, storeFile, unwrittenBytes, clock, log } = deps;
  const { memory = { totalBytes: totalmem, unwrittenBytes: readUnwritten } } = deps;
  const changes = createListeners<DiskLevel>();
  let space = readDiskSpace(dataDir, reserveMib);
  let level: DiskLevel = "enough";
  let nextTakeMs = 0;
  let memoryBytes = 0;
  let nextMemoryMs = 0;
  let flushing: Promise<void> | undefined;

  async function tick(): Promise<void> {
    space = readDiskSpace(dataDir, reserveMib);
    const owedBytes = unwrittenBytes ? readOwed(unwrittenBytes) : 0;
    const found = diskLevelOf(space, owedBytes);
    const next = level === "full" && found !== "enough" ? "full" : found;
    // Otherwise the kernel waits for half a minute, and another program may take the space in the meantime. `owedBytes` lacks names and
    // sizes of files that are not written yet.
    const mustFlush = next === "full" && (next !== level || owedBytes > 0);
    if (next === "full") release();
    if (next !== level) announce(next);
    if (mustFlush) flushing ??= flushDisks().finally(() => (flushing = undefined));
    if (next === "enough" && clock.now() >= nextTakeMs) await take();
  }

  // Asking for every sandbox takes time, so only if the data of all programs together would not fit. Even that is not read while the disk
  // has room for all that memory can hold.
  function readOwed(ofSandboxes: () => number): number {
    if (clock.now() >= nextMemoryMs) [memoryBytes, nextMemoryMs] = [memory.totalBytes(), clock.now() + MEMORY_MS];
    const isEnough = diskLevelOf(space, memoryBytes) === "enough" || diskLevelOf(space, memory.unwrittenBytes()) === "enough";
    return isEnough ? 0 : ofSandboxes();
  }

  function announce(next: DiskLevel): void {
    level = next;
    const { freeBytes, reserveBytes, lacksInodes } = space;
    log[next === "enough" ? "info" : "error"](`disk.${next}`, { dataDir, freeBytes, reserveBytes, lacksInodes });
    changes.call(next);
  }

  function release(): void {
    releaseDiskReserve(dataDir);
    nextTakeMs = 0;
  }

  async function take(): Promise<void> {
    nextTakeMs = clock.now() + RETAKE_MS;
    if (space.spareBytes < space.freeBytes) await takeDiskReserve(dataDir, space.reserveBytes);
  }

  const admit = (isAdmitted: boolean) => {
    if (!isAdmitted) throw new AppError("server_disk_full");
  };

  if (storeFile !== null && reserveMib > 0) await reserveForStore(storeFile);
  await tick();
  const timer = clock.every(TICK_MS, () => tick().catch((error: unknown) => log.error("disk.failed", { error: String(error) })));
  return {
    level: () => level,
    space: () => space,
    admitNew: () => admit(level === "enough"),
    admitWrites: () => admit(level !== "full"),
    onChange: changes.listen,
    async [Symbol.asyncDispose]() {
      await timer[Symbol.asyncDispose]();
      await flushing;
    },
  };
}
