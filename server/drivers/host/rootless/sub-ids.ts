import { userInfo } from "node:os";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import { missingPrograms } from "../missing-programs.ts";

// User and group ids of the host that root has given to this user (subuid(5)), and that newuidmap and newgidmap therefore map. The
// uses of one index belong together: `uids.first + 7` and `gids.first + 7`.
export interface SubIds {
  uids: { first: number };
  gids: { first: number };
  count: number;
}

export type FoundSubIds = { ids: SubIds } | { missing: string };

// Fewer are of no use: sandboxes could not have their own.
const MIN_COUNT = 256;

// Finds the first range of this user.
export function findSubIds(): FoundSubIds {
  const [missing] = missingPrograms(["newuidmap", "newgidmap"]);
  if (missing !== undefined) return { missing: `${missing} is not installed (apt install uidmap)` };
  const uid = process.getuid?.() ?? 0;
  const username = nameOfUser() ?? String(uid);
  const [uids, gids] = ["/etc/subuid", "/etc/subgid"].map((file) => parseSubIds(readFileIfReadable(file) ?? "", [username, String(uid)]));
  const count = Math.min(uids?.count ?? 0, gids?.count ?? 0);
  if (!uids || !gids || count < MIN_COUNT)
    return {
      missing: `/etc/subuid and /etc/subgid give ${username} no ids (usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ${username})`,
    };
  return { ids: { uids, gids, count } };
}

// undefined if the machine does not know this user, as in a container.
function nameOfUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

// The first entry of a user, who is named or numbered.
export function parseSubIds(text: string, names: readonly string[]): { first: number; count: number } | undefined {
  for (const line of text.split("\n")) {
    const [name = "", first = "", count = ""] = line.trim().split(":");
    if (names.includes(name) && /^\d+$/.test(first) && /^\d+$/.test(count)) return { first: Number(first), count: Number(count) };
  }
  return undefined;
}
