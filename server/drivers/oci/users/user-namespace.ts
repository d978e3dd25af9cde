import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { writeFileSync } from "node:fs";
import { PLAIN_PATH } from "../../host/run.ts";
import { idMappings, type UserIds } from "./user-ids.ts";

export interface UserNamespace extends AsyncDisposable {
  // The runtime can join the namespace at this path until it is disposed. Processes that have joined keep the namespace alive.
  path: string;
}

// Some distributions allow only users with this capability to create user namespaces. The creator loses it once inside.
const CAPABILITIES = "-all,+sys_admin";

// Creates the user namespace of a sandbox as the sandbox's own root user. The kernel also charges inotify instances and watches,
// pending signals, timers and message queues of a namespace to the user who created it. The runtime would create it as root, so
// that all sandboxes and the host's services would share one limit.
export async function openUserNamespace(ids: UserIds, signal: AbortSignal): Promise<UserNamespace> {
  signal.throwIfAborted();
  const creator = ["--reuid", `${ids.root}`, "--regid", `${ids.root}`, "--clear-groups"];
  const capabilities = ["--inh-caps", CAPABILITIES, "--ambient-caps", CAPABILITIES];
  // Ends when its input is closed, so that it does not outlive this process.
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
    let errors = "";
    holder.stderr.on("data", (chunk: Buffer) => (errors = `${errors}${chunk.toString()}`.slice(0, 1000)));
    holder.stdout.once("data", () => resolve());
    holder.once("error", reject);
    holder.once("close", () => reject(new Error(`the user namespace could not be created: ${errors.trim()}`)));
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
