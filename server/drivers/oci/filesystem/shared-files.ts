import { existsSync, rmSync } from "node:fs";
import { openCgroups } from "../cgroups/cgroups.ts";

// Files outside the data folder, which all installations of a machine share: the root folders of sandboxes whose template
// names none, the stage for gVisor, and what the probe found out. They hold nothing of a sandbox.
const SHARED_DIR = "/run/berth";

// Removes them, unless a sandbox of any installation still looks at them. Whether another server is about to start one is
// for the caller to know. True when they are gone.
export function removeSharedFiles(folder = SHARED_DIR, listSandboxes = () => openCgroups("berth").list()): boolean {
  if (!existsSync(folder)) return true;
  if (listSandboxes().length > 0) return false;
  rmSync(folder, { recursive: true, force: true });
  return true;
}
