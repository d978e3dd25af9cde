import { randomInt } from "node:crypto";
import { existsSync, readdirSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";

// Two user ids of the host that belong to one sandbox alone.
export interface UserIds {
  root: number;
  user: number;
  // The id that the user has inside. Absent: USER.
  inside?: number;
}

// The usual id of the user inside the sandbox, who has an entry in /etc/passwd. An image can name another one.
export const USER = 1000;

// Above the range of distributions and systemd (up to 0x6fffffff), and below 2^31, where old programs see negative numbers. The second
// half is for ranges (id-ranges.ts). Sandboxes of older versions can have pairs there, too.
const FIRST = 0x70000000;
const PAIRS = 0x03ffffff;
const LAST = 0x7fffffff;
const NAME = "user-id";
const PICKS_PER_READ = 1024;

// Where the ids of sandboxes come from. One number is stored for each sandbox.
export interface IdScheme {
  // Sandboxes that mount volumes share files with others (`sharesFiles`).
  pick(taken: ReadonlySet<number>, options: { sharesFiles: boolean }): number;
  idsOf(stored: number): UserIds;
}

// A server that runs as root may use any ids: a pair for each sandbox.
export const PAIRS_OF_ROOT: IdScheme = {
  pick: (taken) => pickUserIds(taken).root,
  idsOf: (root) => ({ root, user: root + 1 }),
};

export interface AssignedIds {
  of(folder: string, options: { sharesFiles: boolean }): UserIds;
}

// Assigns ids to sandboxes. They are stored in the sandbox's folder and stay the same as long as it exists.
export function createUserIds(sandboxesDir: string, scheme = PAIRS_OF_ROOT): AssignedIds {
  let taken = new Set<number>();
  let picks = 0;
  return {
    of(folder, options) {
      const assigned = readStored(folder, NAME);
      if (assigned !== undefined) return scheme.idsOf(assigned);
      // Some have been removed in the meantime.
      if (picks++ % PICKS_PER_READ === 0) taken = new Set(storedIn(sandboxesDir, NAME).values());
      const picked = scheme.pick(taken, options);
      // Creating a symbolic link is atomic, even if the machine crashes.
      symlinkSync(String(picked), join(folder, NAME));
      taken.add(picked);
      return scheme.idsOf(picked);
    },
  };
}

// The ids of all sandboxes, by the name of the sandbox's folder.
export const assignedUserIds = (sandboxesDir: string, scheme = PAIRS_OF_ROOT): Map<string, UserIds> =>
  new Map([...storedIn(sandboxesDir, NAME)].map(([name, stored]) => [name, scheme.idsOf(stored)]));

// The numbers that are stored as symbolic links of this name in the folders of sandboxes.
export function storedIn(sandboxesDir: string, link: string): Map<string, number> {
  const names = existsSync(sandboxesDir) ? readdirSync(sandboxesDir) : [];
  const pairs = names.map((name) => [name, readStored(join(sandboxesDir, name), link)] as const);
  return new Map(pairs.flatMap(([name, stored]) => (stored === undefined ? [] : [[name, stored] as const])));
}

// Whether a user id of the host is in the range of sandboxes, of any installation.
export const isSandboxUserId = (id: number): boolean => id >= FIRST && id <= LAST;

// Picks a free pair at random, because other installations on this machine use the same range and are unknown to us.
export function pickUserIds(taken: ReadonlySet<number>): UserIds {
  for (;;) {
    const root = FIRST + 2 * randomInt(PAIRS);
    if (!taken.has(root)) return { root, user: root + 1 };
  }
}

export function readStored(folder: string, link: string): number | undefined {
  try {
    return Number(readlinkSync(join(folder, link)));
  } catch {
    return undefined;
  }
}
