import { readlinkSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { readFileIfReadable } from "@berth/server/bounded-io/read-small-file.ts";
import { VARIABLES } from "@berth/server/config/variables.ts";
import { listLockHolders } from "@berth/server/data-folder/data-folder-lock.ts";

// A server of this machine, with the environment and the folder that it was started in.
export interface RunningServer {
  pid: number;
  env: Record<string, string>;
  folder: string;
  dataDir: string;
}

// The servers of this user; also for root, who must not follow the settings of another user's process. Only on Linux.
export async function findRunningServers(): Promise<RunningServer[]> {
  const servers: RunningServer[] = [];
  for (const { pid, holds } of await listLockHolders(isServer)) {
    const server = readServer(pid);
    // The settings must lead to the locked folder; otherwise the process has changed them since its start.
    if (server && (await holds(server.dataDir))) servers.push(server);
  }
  return servers;
}

// `berth down` holds the lock too.
const isServer = (pid: number) => readList(pid, "cmdline").includes("serve");

function readServer(pid: number): RunningServer | null {
  const env = Object.fromEntries(readList(pid, "environ").map((entry) => [entry.split("=", 1)[0], entry.slice(entry.indexOf("=") + 1)]));
  try {
    if (statSync(`/proc/${pid}`).uid !== process.getuid?.()) return null;
    const folder = readlinkSync(`/proc/${pid}/cwd`);
    return { pid, env, folder, dataDir: resolve(folder, env.BERTH_DATA_DIR || VARIABLES.dataDir.default) };
  } catch {
    // It has just ended.
    return null;
  }
}

const readList = (pid: number, file: string) => readFileIfReadable(`/proc/${pid}/${file}`)?.split("\0") ?? [];
