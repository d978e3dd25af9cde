import { randomInt } from "node:crypto";
import { existsSync, readdirSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";

// Two user ids of the host that belong to one sandbox alone.
export interface UserIds {
  root: number;
  user: number;
}

// The id of the user inside the sandbox, who has an entry in /etc/passwd.
export const USER = 1000;

// Only two ids exist inside: root, which no process can become, and the user.
export const idMappings = ({ root, user }: UserIds) => [
  { containerID: 0, hostID: root, size: 1 },
  { containerID: USER, hostID: user, size: 1 },
];

// Above the range of distributions and systemd (up to 0x6fffffff), and below 2^31, where old programs see negative numbers.
const FIRST = 0x70000000;
const PAIRS = 0x07ffffff;
const NAME = "user-id";

// Assigns ids to sandboxes. They are stored in the sandbox's folder and stay the same as long as it exists.
export function createUserIds(sandboxesDir: string): { of(folder: string): UserIds } {
  let taken: Set<number> | undefined;
  return {
    of(folder) {
      const assigned = readIds(folder);
      if (assigned) return assigned;
      taken ??= new Set([...assignedUserIds(sandboxesDir).values()].map(({ root }) => root));
      const picked = pickUserIds(taken);
      // Creating a symbolic link is atomic, even if the machine crashes.
      symlinkSync(String(picked.root), join(folder, NAME));
      taken.add(picked.root);
      return picked;
    },
  };
}

// The ids of all sandboxes, by the name of the sandbox's folder.
export function assignedUserIds(sandboxesDir: string): Map<string, UserIds> {
  const names = existsSync(sandboxesDir) ? readdirSync(sandboxesDir) : [];
  const pairs = names.map((name) => [name, readIds(join(sandboxesDir, name))] as const);
  return new Map(pairs.flatMap(([name, ids]) => (ids ? [[name, ids] as const] : [])));
}

// Whether a user id of the host is in the range of sandboxes, of any installation.
export const isSandboxUserId = (id: number): boolean => id >= FIRST && id < FIRST + 2 * PAIRS;

// Picks a free pair at random, because other installations on this machine use the same range and are unknown to us.
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
