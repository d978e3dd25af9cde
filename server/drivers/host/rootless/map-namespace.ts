import { writeFileSync } from "node:fs";
import { hold, mustRun, type Held } from "../run.ts";
import type { SubIds } from "./sub-ids.ts";

// A range of the ids in a namespace. `index` is its place among the sub-ids of this user; "self" is the user.
export interface MappedRange {
  inside: number;
  of: "self" | { index: number; count: number };
}

// Holds a new user namespace of this user. It exists until it is disposed, and processes that have entered keep it alive.
export async function holdNamespace(ranges: readonly MappedRange[], subIds: SubIds | undefined, signal: AbortSignal): Promise<Held> {
  const holder = await hold("unshare", ["--user", "cat"], signal);
  try {
    const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
    if (subIds) {
      const args = (self: number, first: number) =>
        ranges.flatMap(({ inside, of }) => (of === "self" ? [inside, self, 1] : [inside, first + of.index, of.count])).map(String);
      await mustRun("newuidmap", [String(holder.pid), ...args(uid, subIds.uids.first)], { signal });
      await mustRun("newgidmap", [String(holder.pid), ...args(gid, subIds.gids.first)], { signal });
    } else {
      // The kernel allows everyone to map one id, but then the groups of the process cannot change.
      writeFileSync(`/proc/${holder.pid}/setgroups`, "deny");
      writeFileSync(`/proc/${holder.pid}/uid_map`, `0 ${uid} 1\n`);
      writeFileSync(`/proc/${holder.pid}/gid_map`, `0 ${gid} 1\n`);
    }
    return holder;
  } catch (error) {
    await holder[Symbol.asyncDispose]();
    throw error;
  }
}

// The command line of a program that runs in the namespace as its root user. With sub-ids, the program loses the groups of this user.
export function commandInside(pid: number, subIds: SubIds | undefined, command: string, args: readonly string[]): [string, string[]] {
  const credentials = subIds ? ["--setuid", "0", "--setgid", "0"] : ["--preserve-credentials"];
  return ["nsenter", [`--user=/proc/${pid}/ns/user`, ...credentials, "--", command, ...args]];
}
