import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { writeFileSync } from "node:fs";
import { PLAIN_PATH } from "../../host/run.ts";
import { idMappings, type UserIds } from "./user-ids.ts";

export interface UserNamespace extends AsyncDisposable {
  // For the runtime to join, until this is disposed of. The namespace lives on in the processes that have joined it.
  path: string;
}

// The creator keeps this one capability until it is inside: some distributions refuse user namespaces to users without.
const CAPABILITIES = "-all,+sys_admin";

// Makes the user namespace of a sandbox in the name of the sandbox's own root user. The kernel counts the inotify instances
// and watches, pending signals, timers and message queues of a namespace against the user who created it, too. The runtime
// would create it as root: then all sandboxes and the host's own services would share a single allowance.
export async function openUserNamespace(ids: UserIds, signal: AbortSignal): Promise<UserNamespace> {
  signal.throwIfAborted();
  const creator = ["--reuid", `${ids.root}`, "--regid", `${ids.root}`, "--clear-groups"];
  const capabilities = ["--inh-caps", CAPABILITIES, "--ambient-caps", CAPABILITIES];
  // It lives until its input ends, which the death of this process brings about as well.
  const holder = spawn("setpriv", [...creator, ...capabilities, "unshare", "--user", "sh", "-c", "echo ready; exec cat"], {
    env: { PATH: PLAIN_PATH },
  });
  const ended = new Promise<void>((resolve) => holder.once("close", () => resolve()));
  async function end(): Promise<void> {
    holder.kill("SIGKILL");
    await ended;
  }
  try {
    await untilReady(holder, signal);
    const mappings = idMappings(ids).map(({ containerID, hostID, size }) => `${containerID} ${hostID} ${size}\n`);
    for (const file of ["uid_map", "gid_map"]) writeFileSync(`/proc/${holder.pid}/${file}`, mappings.join(""));
  } catch (error) {
    await end();
    throw error;
  }
  return { path: `/proc/${holder.pid}/ns/user`, [Symbol.asyncDispose]: end };
}

function untilReady(holder: ChildProcessWithoutNullStreams, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let complaint = "";
    holder.stderr.on("data", (chunk: Buffer) => (complaint = `${complaint}${chunk.toString()}`.slice(0, 1000)));
    holder.stdout.once("data", () => resolve());
    holder.once("error", reject);
    holder.once("close", () => reject(new Error(`no user namespace could be made: ${complaint.trim()}`)));
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
