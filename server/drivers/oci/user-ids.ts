import { randomInt } from "node:crypto";
import { existsSync, readdirSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";

// Two ids of the host that belong to one sandbox alone.
export interface UserIds {
  root: number;
  user: number;
}

// Above what distributions and systemd hand out (up to 0x6fffffff), below where ids turn negative for old programs.
const FIRST = 0x70000000;
const PAIRS = 0x07ffffff;
const NAME = "user-id";

// Gives each sandbox its ids, which stay with its folder for as long as that exists.
export function createUserIds(sandboxesDir: string): { of(folder: string): UserIds } {
  let taken: Set<number> | undefined;
  return {
    of(folder) {
      const kept = readIds(folder);
      if (kept) return kept;
      taken ??= readTaken(sandboxesDir);
      const picked = pickUserIds(taken);
      // The target of a symbolic link is written at once and whole, whatever happens to the machine.
      symlinkSync(String(picked.root), join(folder, NAME));
      taken.add(picked.root);
      return picked;
    },
  };
}

// Picks a pair that no sandbox of ours has. Random, because other installations on the machine pick from the same range
// without knowing of us.
export function pickUserIds(taken: ReadonlySet<number>): UserIds {
  for (;;) {
    const root = FIRST + 2 * randomInt(PAIRS);
    if (!taken.has(root)) return { root, user: root + 1 };
  }
}

function readIds(folder: string): UserIds | undefined {
  try {
    const root = Number(readlinkSync(join(folder, NAME)));
    return { root, user: root + 1 };
  } catch {
    return undefined;
  }
}

function readTaken(sandboxesDir: string): Set<number> {
  const names = existsSync(sandboxesDir) ? readdirSync(sandboxesDir) : [];
  return new Set(names.map((name) => readIds(join(sandboxesDir, name))?.root).filter((root) => root !== undefined));
}
