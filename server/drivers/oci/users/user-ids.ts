import { randomInt } from "node:crypto";
import { existsSync, readdirSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";

// Two ids of the host that belong to one sandbox alone.
export interface UserIds {
  root: number;
  user: number;
}

// The ordinary user inside, with a line in /etc/passwd.
export const USER = 1000;

// The only two ids that exist inside: root, which no process can become, and the user.
export const idMappings = ({ root, user }: UserIds) => [
  { containerID: 0, hostID: root, size: 1 },
  { containerID: USER, hostID: user, size: 1 },
];

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
      taken ??= new Set([...assignedUserIds(sandboxesDir).values()].map(({ root }) => root));
      const picked = pickUserIds(taken);
      // The target of a symbolic link is written at once and whole, whatever happens to the machine.
      symlinkSync(String(picked.root), join(folder, NAME));
      taken.add(picked.root);
      return picked;
    },
  };
}

// The pairs that are given away, by the folder that has them.
export function assignedUserIds(sandboxesDir: string): Map<string, UserIds> {
  const names = existsSync(sandboxesDir) ? readdirSync(sandboxesDir) : [];
  const pairs = names.map((name) => [name, readIds(join(sandboxesDir, name))] as const);
  return new Map(pairs.flatMap(([name, ids]) => (ids ? [[name, ids] as const] : [])));
}

// Whether an id of the host is one that a sandbox, of whatever installation, may have.
export const isSandboxUserId = (id: number): boolean => id >= FIRST && id < FIRST + 2 * PAIRS;

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
