import { writeFileSync } from "node:fs";
import { hold, type Held } from "../../host/run.ts";
import { withLimits, type ProcessLimits } from "../../host/isolation/host-limits.ts";
import { asUser } from "./as-user.ts";
import { pairMappings, type IdMappings } from "./id-mappings.ts";
import type { UserIds } from "./user-ids.ts";

export interface UserNamespace extends AsyncDisposable {
  // The runtime can join the namespace at this path until it is disposed. Processes that have joined keep the namespace alive.
  path: string;
  // Wraps a command line so that the command runs inside. Absent: the runtime joins the namespace by its path.
  enter?(command: string, args: readonly string[]): [string, string[]];
}

// Some distributions allow only users with this capability to create user namespaces. The creator loses it once inside.
const CAPABILITIES = ["sys_admin"];

interface NamespaceOptions {
  mappings?: IdMappings;
  // For all users of the namespace together. Absent: each user has limits of its own.
  limits?: ProcessLimits;
}

// Creates the user namespace of a sandbox as the sandbox's own root user. The kernel also charges inotify instances and watches,
// pending signals, timers and message queues of a namespace to the user who created it. The runtime would create it as root, so
// that all sandboxes and the host's services would share one limit.
export async function openUserNamespace(
  ids: UserIds,
  signal: AbortSignal,
  { mappings = pairMappings(ids), limits }: NamespaceOptions = {},
): Promise<UserNamespace> {
  const holder = await holdMappedNamespace(ids.root, mappings, signal, limits);
  return { path: `/proc/${holder.pid}/ns/user`, [Symbol.asyncDispose]: () => holder[Symbol.asyncDispose]() };
}

// Holds a new user namespace, which `creator`, a user of the host, has created.
export async function holdMappedNamespace(
  creator: number,
  mappings: IdMappings,
  signal: AbortSignal,
  limits?: ProcessLimits,
): Promise<Held> {
  const line = asUser({ uid: creator, gid: creator }, CAPABILITIES, ["unshare", "--user", "cat"]);
  const [command = "", ...args] = limits ? withLimits({ ...limits, openFiles: undefined }, line) : line;
  const holder = await hold(command, args, signal);
  try {
    for (const [file, ranges] of [["uid_map", mappings.uids] as const, ["gid_map", mappings.gids] as const]) {
      const lines = ranges.map(({ containerID, hostID, size }) => `${containerID} ${hostID} ${size}\n`);
      writeFileSync(`/proc/${holder.pid}/${file}`, lines.join(""));
    }
    return holder;
  } catch (error) {
    await holder[Symbol.asyncDispose]();
    throw error;
  }
}
