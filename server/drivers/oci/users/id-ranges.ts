import { randomInt } from "node:crypto";
import { existsSync, readlinkSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@berth/contract";
import { makeFolder } from "../../../bounded-io/make-folder.ts";
import { RANGE_SIZE } from "./id-mappings.ts";
import { assignedUserIds, readStored, storedIn } from "./user-ids.ts";

// The second half of the ids of sandboxes (user-ids.ts).
const FIRST = 0x78000000;
const COUNT = 0x08000000 / RANGE_SIZE;
const NAME = "id-range";
// All installations of this machine claim ranges here. Claims end when the machine restarts.
const CLAIMS_DIR = "/run/berth/id-ranges";

export interface IdRanges {
  // The first id of the sandbox's range. It is stored in the sandbox's folder, and changes only if another sandbox has claimed the range
  // before the first start since the machine has started. Files on disk have no ids of the range (`diskMappings`), except those of
  // sandboxes that build, which start only once.
  of(folder: string): number;
}

// Gives each sandbox with a writable root a range of ids of the host that no other sandbox has. A claim is a symbolic link to the
// folder of its sandbox, and ends with that folder.
export function createIdRanges(sandboxesDir: string, claimsDir = CLAIMS_DIR): IdRanges {
  return {
    of(folder) {
      makeFolder(claimsDir, 0o755);
      const stored = readStored(folder, NAME);
      // The machine may have restarted since the last claim, and another installation may have claimed the range.
      if (stored !== undefined && claim(claimsDir, stored, folder)) return FIRST + stored * RANGE_SIZE;
      const picked = pick(takenIn(sandboxesDir), (index) => claim(claimsDir, index, folder));
      rmSync(join(folder, NAME), { force: true });
      symlinkSync(String(picked), join(folder, NAME));
      return FIRST + picked * RANGE_SIZE;
    },
  };
}

// The first ids of the ranges that sandboxes have.
export const assignedIdRanges = (sandboxesDir: string): number[] =>
  [...storedIn(sandboxesDir, NAME).values()].map((index) => FIRST + index * RANGE_SIZE);

// Sandboxes of this installation that have not run since the machine has started have no claim.
function takenIn(sandboxesDir: string): Set<number> {
  const pairs = [...assignedUserIds(sandboxesDir).values()].map(({ root }) => Math.floor((root - FIRST) / RANGE_SIZE));
  return new Set([...pairs, ...storedIn(sandboxesDir, NAME).values()]);
}

// At random, because installations whose claims are unknown, such as one in a container, pick from the same ranges.
function pick(taken: ReadonlySet<number>, isFree: (index: number) => boolean): number {
  const start = randomInt(COUNT);
  for (let i = 0; i < COUNT; i++) {
    const index = (start + i) % COUNT;
    if (!taken.has(index) && isFree(index)) return index;
  }
  throw new AppError("capacity_reached", { cause: new Error(`all ${COUNT} ranges of user ids are taken`) });
}

// False if the range belongs to another sandbox.
function claim(claimsDir: string, index: number, folder: string): boolean {
  const path = join(claimsDir, String(index));
  try {
    if (!existsSync(path)) removeLink(path);
    symlinkSync(folder, path);
    return true;
  } catch {
    return linkAt(path) === folder;
  }
}

// The claim of a sandbox that no longer exists.
function removeLink(path: string): void {
  if (linkAt(path) !== undefined) unlinkSync(path);
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
