import { writeFileSync } from "node:fs";
import { hold } from "../../host/run.ts";
import { idMappings, type UserIds } from "./user-ids.ts";

export interface UserNamespace extends AsyncDisposable {
  // The runtime can join the namespace at this path until it is disposed. Processes that have joined keep the namespace alive.
  path: string;
  // Wraps a command line so that the command runs inside. Absent: the runtime joins the namespace by its path.
  enter?(command: string, args: readonly string[]): [string, string[]];
}

// Some distributions allow only users with this capability to create user namespaces. The creator loses it once inside.
const CAPABILITIES = "-all,+sys_admin";

// Creates the user namespace of a sandbox as the sandbox's own root user. The kernel also charges inotify instances and watches,
// pending signals, timers and message queues of a namespace to the user who created it. The runtime would create it as root, so
// that all sandboxes and the host's services would share one limit.
export async function openUserNamespace(ids: UserIds, signal: AbortSignal): Promise<UserNamespace> {
  const creator = ["--reuid", `${ids.root}`, "--regid", `${ids.root}`, "--clear-groups"];
  const capabilities = ["--inh-caps", CAPABILITIES, "--ambient-caps", CAPABILITIES];
  const holder = await hold("setpriv", [...creator, ...capabilities, "unshare", "--user", "cat"], signal);
  try {
    const mappings = idMappings(ids).map(({ containerID, hostID, size }) => `${containerID} ${hostID} ${size}\n`);
    for (const file of ["uid_map", "gid_map"]) writeFileSync(`/proc/${holder.pid}/${file}`, mappings.join(""));
  } catch (error) {
    await holder[Symbol.asyncDispose]();
    throw error;
  }
  return { path: `/proc/${holder.pid}/ns/user`, [Symbol.asyncDispose]: () => holder[Symbol.asyncDispose]() };
}
