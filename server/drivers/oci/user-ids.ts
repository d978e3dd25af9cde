import { randomInt } from "node:crypto";

// Two ids of the host that belong to one sandbox alone.
export interface UserIds {
  root: number;
  user: number;
}

// Above what distributions and systemd hand out (up to 0x6fffffff), below where ids turn negative for old programs.
const FIRST = 0x70000000;
const PAIRS = 0x07ffffff;

// Picks a pair that no sandbox of ours has. Random, because other installations on the machine pick from the same range
// without knowing of us.
export function pickUserIds(taken: ReadonlySet<number>): UserIds {
  for (;;) {
    const root = FIRST + 2 * randomInt(PAIRS);
    if (!taken.has(root)) return { root, user: root + 1 };
  }
}
