import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "../../host/run.ts";
import { isMounted, unmount } from "../../host/mounts.ts";

export const controlFolderOf = (folder: string) => join(folder, "control");

// The folder of the daemon's socket, for sandboxes that the host cannot look into. In memory and as small as the one that
// others have inside, so that neither a full disk keeps the daemon from starting nor the sandbox fills the host's. New for
// every start.
export async function openControlFolder(folder: string, owner: number, signal: AbortSignal): Promise<string> {
  await closeControlFolder(folder);
  const path = controlFolderOf(folder);
  mkdirSync(path, { recursive: true });
  const options = `nosuid,nodev,noexec,mode=700,uid=${owner},gid=${owner},size=64k,nr_inodes=16`;
  await mustRun("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path], { signal });
  return path;
}

// Content when there is none.
export async function closeControlFolder(folder: string): Promise<void> {
  const path = controlFolderOf(folder);
  while (existsSync(path) && isMounted(path)) await unmount(path);
}
