import { readFileSync } from "node:fs";
import { availableParallelism, freemem, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@berth/contract";
import type { MachineDisk } from "../../disk-space.ts";
import { createIdleProcessors } from "../../idle-processors.ts";
import type { Db } from "../../store/schema.ts";
import type { Engine } from "../../store/open.ts";
import { countPartnerSandboxes, countSandboxes, lockSite } from "../../store/sessions/listing/count.ts";
import type { CallsUnderWay } from "../calls-under-way.ts";
import type { Site } from "../../store/sessions/session.ts";

// Whether there is room for one more sandbox that holds memory. A create without room is refused before anything is created.
export interface Capacity {
  // For a session, new or hibernated. The pool's blanks do not count, because they are evicted for it. Throws
  // `capacity_reached`. Runs in the transaction that writes the row, so that two calls cannot both be the last that fits.
  admit(tx: Db): Promise<void>;
  // Admits a blank of the pool, which uses only free room.
  admitBlank(tx: Db): Promise<void>;
  // How many sandboxes there are beyond the limit.
  excess(db: Db): Promise<number>;
  // How many blanks the free memory allows, if `held` of them exist.
  roomForBlanks(held: number): number;
  // True if the machine has far more to do than its processors can do now.
  isBusy(): boolean;
  // Waits until the processors have time for work that no caller waits for, but at most half a second: this work must also be done on a
  // machine that is always busy.
  untilIdle(): Promise<void>;
  // The same, but only while calls are under way: for a caller that can wait better than the others.
  giveWay(): Promise<void>;
  // True if paused sandboxes should give their memory back at once.
  isMemoryLow(): boolean;
}

export interface CapacityOptions {
  maxSandboxes: number;
  // Below this, refuse. Below twice this, ask for memory back.
  reserveBytes: number;
  availableBytes?: () => number;
  // Processes that run or want to, for each processor.
  loadPerCore?: () => number;
  // Calls that are under way. Absent: they are not known.
  calls?: Pick<CallsUnderWay, "count">;
  // How many processors were idle since the last call.
  idleProcessors?: () => number;
  // Absent: the disk has enough space.
  disk?: Pick<MachineDisk, "admitNew">;
}

export function createCapacity(site: Site, engine: Engine, options: CapacityOptions): Capacity {
  const { maxSandboxes, reserveBytes, availableBytes = readAvailable, loadPerCore = readLoad } = options;
  const { idleProcessors = createIdleProcessors(), calls = { count: 0 } } = options;
  const hasTime = () => site.host === null || idleProcessors() >= availableParallelism() * IDLE_SHARE;

  async function waitWhile(mustWait: () => boolean): Promise<void> {
    for (let look = 1; mustWait() && look < IDLE_LOOKS; look++) await sleep(IDLE_LOOK_MS);
  }

  async function check(tx: Db, count: (tx: Db) => Promise<number>): Promise<void> {
    if (site.host !== null && availableBytes() < reserveBytes) throw full("The server is low on memory");
    if (maxSandboxes === Infinity) return;
    if (engine === "postgres") await lockSite(tx, site);
    if ((await count(tx)) >= maxSandboxes) throw full(`The limit of ${maxSandboxes} sandboxes is reached`);
  }

  return {
    admit: (tx) => check(tx, (inside) => countPartnerSandboxes(inside, site)),
    async admitBlank(tx) {
      options.disk?.admitNew();
      await check(tx, (inside) => countSandboxes(inside, site));
    },
    excess: async (db) => (maxSandboxes === Infinity ? 0 : Math.max(0, (await countSandboxes(db, site)) - maxSandboxes)),
    // Blanks may use a quarter of the memory that would be free without them, beyond what `isMemoryLow` demands.
    roomForBlanks: (held) =>
      site.host === null ? Infinity : Math.max(0, Math.floor((availableBytes() - 2 * reserveBytes + held * BLANK_BYTES) / 4 / BLANK_BYTES)),
    isBusy: () => site.host !== null && loadPerCore() > BUSY_LOAD,
    untilIdle: () => waitWhile(() => !hasTime()),
    giveWay: () => waitWhile(() => calls.count > 0 && !hasTime()),
    isMemoryLow: () => site.host !== null && availableBytes() < 2 * reserveBytes,
  };
}

// The memory of a blank sandbox, in its processes and in the kernel.
const BLANK_BYTES = 32 * 1024 * 1024;

const BUSY_LOAD = 4;

const IDLE_SHARE = 1 / 4;
const IDLE_LOOK_MS = 50;
const IDLE_LOOKS = 10;

const readLoad = () => loadavg()[0]! / availableParallelism();

const full = (message: string) => new AppError("capacity_reached", { message });

// On Linux, the memory that can be used without swapping, which is more than the free memory.
function readAvailable(): number {
  try {
    const line = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"));
    if (line) return Number(line[1]) * 1024;
  } catch {
    // This is not Linux.
  }
  return freemem();
}
