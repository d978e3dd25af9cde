import { randomBytes } from "node:crypto";
import { chmod, lstat, rename, rm, rmdir, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TEMPORARY_PREFIX } from "../../files/walk.ts";
import type { Workspace } from "../../files/workspace.ts";
import { type KeptFile, type Manifest, versionOf } from "./manifest.ts";
import type { ObjectStore } from "./object-store.ts";
import { isBelow } from "./workspace-files.ts";

// The paths of a restore.
export interface Restored {
  written: string[];
  removed: string[];
  // They differ from the checkpoint and stay as they are: too large to keep, changed meanwhile, or not replaceable.
  left: string[];
}

export interface RestoreOptions {
  workspace: Workspace;
  objects: ObjectStore;
  target: Manifest;
  // The present files. A file is changed only if its present content is kept here.
  now: Manifest;
}

export async function restoreFiles({ workspace, objects, target, now }: RestoreOptions): Promise<Restored> {
  const restored: Restored = { written: [], removed: [], left: [] };

  // Removals come first, because a file may take the place of a folder, or a folder that of a file.
  for (const [path, present] of now.files) {
    if (target.files.has(path) || isBelow(path, target.ignored)) continue;
    const isRemoved = await attempt(() => remove(path, present));
    (isRemoved ? restored.removed : restored.left).push(path);
  }
  for (const [path, wanted] of target.files) {
    const present = now.files.get(path);
    if (isEqual(wanted, present)) continue;
    const isWritten = await attempt(() => write(path, wanted, present));
    (isWritten ? restored.written : restored.left).push(path);
  }
  return restored;

  async function remove(path: string, present: KeptFile): Promise<boolean> {
    await using parent = await workspace.pinParent(path);
    if (!(await isUnchanged(parent.at, present))) return false;
    await unlink(parent.at);
    await removeEmptyFolders(workspace.root, dirname(path));
    return true;
  }

  async function write(path: string, wanted: KeptFile, present: KeptFile | undefined): Promise<boolean> {
    if (wanted.hash === null) return false;
    const bytes = await objects.read(wanted.hash);
    await using parent = await workspace.pinParent(path, { makeFolders: true });
    const temporary = join(parent.folder, TEMPORARY_PREFIX + randomBytes(8).toString("hex"));
    try {
      await writeFile(temporary, bytes, { flag: "wx" });
      await chmod(temporary, wanted.mode);
      if (!(await isUnchanged(parent.at, present))) return false;
      await rename(temporary, parent.at);
      return true;
    } finally {
      await rm(temporary, { force: true });
    }
  }
}

// A file that fails stays as it is, and the others are restored.
async function attempt(work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work();
  } catch (error) {
    console.error("A file could not be restored:", error);
    return false;
  }
}

const isEqual = (wanted: KeptFile, present: KeptFile | undefined): boolean =>
  present !== undefined &&
  wanted.mode === present.mode &&
  (wanted.hash === null ? wanted.version === present.version : wanted.hash === present.hash);

// Whether the path still is what the checkpoint of the present files says: a file whose content is kept there, or nothing.
async function isUnchanged(at: string, present: KeptFile | undefined): Promise<boolean> {
  const stats = await lstat(at, { bigint: true }).catch(() => null);
  if (stats === null || present === undefined) return stats === null && present === undefined;
  return present.hash !== null && versionOf(stats) === present.version;
}

async function removeEmptyFolders(root: string, folder: string): Promise<void> {
  for (let path = folder; path !== "." && path !== ""; path = dirname(path)) {
    try {
      await rmdir(join(root, path));
    } catch {
      return;
    }
  }
}
