import { readFileSync } from "node:fs";
import { freemem } from "node:os";
import { AppError } from "@berth/contract";
import type { Db } from "../store/schema.ts";
import { countSandboxes, type Home } from "../store/sessions.ts";

// Whether there is room for one more sandbox that holds memory. Over it, a create is refused before anything is made.
export interface Capacity {
  // Throws `capacity_reached`. In the transaction that inserts the row, so that two at once cannot both be the last.
  admit(tx: Db): Promise<void>;
  // True when memory is so short that paused sandboxes should give theirs back at once.
  pressed(): boolean;
}

export interface CapacityOptions {
  maxSandboxes: number;
  // Refuse below this; ask for memory back below twice this.
  reserveBytes: number;
  availableBytes?: () => number;
}

const RETRY_AFTER_SECONDS = 10;

export function createCapacity(home: Home, { maxSandboxes, reserveBytes, availableBytes = readAvailable }: CapacityOptions): Capacity {
  return {
    async admit(tx) {
      if (home.host !== null && availableBytes() < reserveBytes) throw full("The machine is short of memory");
      if ((await countSandboxes(tx, home)) >= maxSandboxes) throw full(`All ${maxSandboxes} places for sandboxes are taken`);
    },
    pressed: () => home.host !== null && availableBytes() < 2 * reserveBytes,
  };
}

const full = (message: string) => new AppError("capacity_reached", { message, retryAfterSeconds: RETRY_AFTER_SECONDS });

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
