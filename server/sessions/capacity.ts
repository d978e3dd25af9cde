import { readFileSync } from "node:fs";
import { freemem } from "node:os";
import { AppError } from "@berth/contract";
import type { Db } from "../store/schema.ts";
import type { Engine } from "../store/open.ts";
import { countSandboxes, lockHome, type Home } from "../store/sessions/sessions.ts";

// Whether there is room for one more sandbox that holds memory. Over it, a create is refused before anything is made.
export interface Capacity {
  // For a session, new or hibernated: blanks of the pool do not count, they give way to it. Throws `capacity_reached`. In the
  // transaction that writes the row, so that two at once cannot both be the last.
  admit(tx: Db): Promise<void>;
  // For a blank of the pool, which takes only what is free.
  admitBlank(tx: Db): Promise<void>;
  // How many sandboxes there are beyond the bound.
  excess(db: Db): Promise<number>;
  // True when memory is so short that paused sandboxes should give theirs back at once.
  isMemoryLow(): boolean;
}

export interface CapacityOptions {
  maxSandboxes: number;
  // Refuse below this; ask for memory back below twice this.
  reserveBytes: number;
  availableBytes?: () => number;
}

export function createCapacity(home: Home, engine: Engine, options: CapacityOptions): Capacity {
  const { maxSandboxes, reserveBytes, availableBytes = readAvailable } = options;

  async function check(tx: Db, count: (tx: Db) => Promise<number>): Promise<void> {
    if (home.host !== null && availableBytes() < reserveBytes) throw full("The machine is short of memory");
    if (maxSandboxes === Infinity) return;
    if (engine === "postgres") await lockHome(tx, home);
    if ((await count(tx)) >= maxSandboxes) throw full(`All ${maxSandboxes} places for sandboxes are taken`);
  }

  return {
    admit: (tx) => check(tx, (inside) => countSandboxes(inside, home, { blanks: false })),
    admitBlank: (tx) => check(tx, (inside) => countSandboxes(inside, home)),
    excess: async (db) => (maxSandboxes === Infinity ? 0 : Math.max(0, (await countSandboxes(db, home)) - maxSandboxes)),
    isMemoryLow: () => home.host !== null && availableBytes() < 2 * reserveBytes,
  };
}

const full = (message: string) => new AppError("capacity_reached", { message });

// Linux knows better than "free": what could be had without swapping.
function readAvailable(): number {
  try {
    const line = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"));
    if (line) return Number(line[1]) * 1024;
  } catch {
    // Not Linux.
  }
  return freemem();
}
