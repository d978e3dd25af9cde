import { chownSync, lstatSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { FileRunner } from "../file-runner.ts";

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

const SCRIPT = `set -e
cd "$1"
owner=$2
shift 2
for part; do
  if [ -L "./$part" ] || { [ -e "./$part" ] && [ ! -d "./$part" ]; }; then mv -T -- "./$part" "./$part.moved-$(date +%s)"; fi
  if [ ! -d "./$part" ]; then
    mkdir -m 755 "./$part"
    chown "$owner:$owner" "./$part"
  fi
  cd -P "./$part"
done`;

// The same for a server that may not enter the home itself.
export async function makeMountPointBy(
  files: FileRunner,
  { home, path, owner }: { home: string; path: string; owner: number },
): Promise<void> {
  if (!path.startsWith(HOME)) return;
  await files.run("sh", ["-c", SCRIPT, "sh", home, String(files.idOf(owner)), ...path.slice(HOME.length).split("/")]);
}
