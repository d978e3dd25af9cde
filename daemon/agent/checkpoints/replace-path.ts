import { randomBytes } from "node:crypto";
import { chmod, lstat, readlink, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TEMPORARY_PREFIX } from "../../files/walk.ts";
import type { PinnedParent, WorkspaceFolder } from "../../files/workspace-folder.ts";
import { type Kept, versionOf } from "./manifest.ts";

// The new state of a path: a file, a link, or nothing.
export type Wanted = { kind: "file"; bytes: Uint8Array; mode: number } | { kind: "link"; target: string } | null;

export interface Replacement {
  path: string;
  // The path must still be this. undefined means that nothing is there.
  present: Kept | undefined;
  wanted: Wanted;
}

// Replaces a file or a link in one step. Returns false, and changes nothing, if the path is not what it was.
export async function replacePath(workspace: WorkspaceFolder, { path, present, wanted }: Replacement): Promise<boolean> {
  await using parent = await pinRealParent(workspace, path);
  if (wanted === null) {
    if (!(await isStill(parent.at, present))) return false;
    if (present !== undefined) await unlink(parent.at);
    return true;
  }
  const temporary = join(parent.folder, TEMPORARY_PREFIX + randomBytes(8).toString("hex"));
  try {
    if (wanted.kind === "link") await symlink(wanted.target, temporary);
    else {
      await writeFile(temporary, wanted.bytes, { flag: "wx", mode: 0o600 });
      // A write clears setuid, so the mode comes last.
      await chmod(temporary, wanted.mode);
    }
    if (!(await isStill(parent.at, present))) return false;
    await rename(temporary, parent.at);
    return true;
  } finally {
    await rm(temporary, { force: true });
  }
}

// A link inside the workspace may stand where a folder was. Writing through it would change another file.
export async function pinRealParent(workspace: WorkspaceFolder, path: string): Promise<PinnedParent> {
  const parent = await workspace.pinParent(path);
  const real = await readlink(parent.folder).catch(() => parent.folder);
  if (real === join(workspace.root, dirname(path))) return parent;
  await parent[Symbol.asyncDispose]();
  throw new Error(`A folder of ${path} is a link`);
}

async function isStill(at: string, present: Kept | undefined): Promise<boolean> {
  const stats = await lstat(at, { bigint: true }).catch(() => null);
  if (stats === null || present === undefined) return stats === null && present === undefined;
  if (present.kind === "link") return stats.isSymbolicLink() && (await readlink(at)) === present.target;
  return present.kind === "file" && stats.isFile() && versionOf(stats) === present.version;
}
