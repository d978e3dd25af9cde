import { chownSync, lstatSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";

const HOME = "/home/user/";

// Creates the mount point of a volume in a sandbox's home, if it belongs there. A runtime would create it and the folders above it
// as root. The sandbox must not run: nothing may replace a folder in the meantime.
export function makeMountPoint(home: string, path: string, owner: number): void {
  if (!path.startsWith(HOME)) return;
  let folder = home;
  for (const part of path.slice(HOME.length).split("/")) {
    folder = join(folder, part);
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (found?.isDirectory()) continue;
    // A symbolic link of the sandbox could lead anywhere.
    if (found) renameSync(folder, `${folder}.moved-${Date.now()}`);
    mkdirSync(folder, { mode: 0o755 });
    if (process.getuid?.() === 0) chownSync(folder, owner, owner);
  }
}
