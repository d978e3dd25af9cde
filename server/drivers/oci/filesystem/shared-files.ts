import { existsSync, rmSync } from "node:fs";
import { openCgroups } from "../cgroups/cgroups.ts";

// Files outside the data folder that all installations of a machine share: root folders, mount points for gVisor, and the cached
// result of the probe. They contain no data of a sandbox.
const SHARED_DIR = "/run/berth";

// Removes the shared files, unless a sandbox of any installation still uses them. The caller makes sure that no other server is
// about to start a sandbox. Returns true if the files no longer exist.
export function removeSharedFiles(folder = SHARED_DIR, listSandboxes = () => openCgroups("berth").list()): boolean {
  if (!existsSync(folder)) return true;
  if (listSandboxes().length > 0) return false;
  rmSync(folder, { recursive: true, force: true });
  return true;
}
