import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { unmount } from "../../host/mounts.ts";
import { mustRun } from "../../host/run.ts";

export const controlFolderOf = (folder: string) => join(folder, "control");

// Creates the folder of the daemon's socket on the host, for runtimes whose sandboxes the host cannot look into. It is a small
// tmpfs, so that the daemon starts even if the disk is full and the sandbox cannot fill the host's memory. Every start gets a
// new one.
export async function openControlFolder(folder: string, owner: number, signal: AbortSignal): Promise<string> {
  await closeControlFolder(folder);
  const path = controlFolderOf(folder);
  mkdirSync(path, { recursive: true });
  const options = `nosuid,nodev,noexec,mode=700,uid=${owner},gid=${owner},size=64k,nr_inodes=16`;
  await mustRun("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path], { signal });
  return path;
}

// No-op if it is not open.
export async function closeControlFolder(folder: string): Promise<void> {
  const path = controlFolderOf(folder);
  if (existsSync(path)) await unmount(path);
}
