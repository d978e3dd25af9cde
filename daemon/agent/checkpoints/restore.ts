import { mkdir, rmdir } from "node:fs/promises";
import type { WorkspaceFolder } from "../../files/workspace-folder.ts";
import { isSame, type Kept, type KeptFile, type Manifest } from "./manifest.ts";
import type { ObjectStore } from "./object-store.ts";
import { openFolders } from "./open-folders.ts";
import { pinRealParent, replacePath, type Wanted } from "./replace-path.ts";
import { isBelow } from "./workspace-files.ts";

// The paths of a restore. Folders are only named if nothing but their permissions has changed.
export interface Restored {
  written: string[];
  removed: string[];
  folders: string[];
  // They differ from the checkpoint and stay as they are: too large to keep, changed in the meantime, or not replaceable.
  left: string[];
}

export interface RestoreOptions {
  workspace: WorkspaceFolder;
  objects: ObjectStore;
  target: Manifest;
  // The present files. A file is changed only if its present content is kept here.
  now: Manifest;
}

export async function restoreFiles({ workspace, objects, target, now }: RestoreOptions): Promise<Restored> {
  const restored: Restored = { written: [], removed: [], folders: [], left: [] };
  const surplus = [...now.entries].filter(
    ([path, { kind }]) => target.entries.get(path)?.kind !== kind && (target.entries.has(path) || !isBelow(path, target.ignored)),
  );
  const missing = [...target.entries].filter(([path, wanted]) => !isSame(wanted, now.entries.get(path)));
  await using folders = await openFolders(
    workspace,
    [...surplus, ...missing].map(([path]) => path),
  );

  // Removals come first, because a file may take the place of a folder, or a folder that of a file. A folder follows its contents.
  for (const [path, present] of surplus.toReversed()) {
    if (present.kind === "folder") await attempt(() => removeFolder(path));
    else if (!(await attempt(() => remove(path, present)))) restored.left.push(path);
    else if ((target.entries.get(path)?.kind ?? "folder") === "folder") restored.removed.push(path);
  }
  for (const [path, wanted] of missing) {
    const present = now.entries.get(path);
    if (wanted.kind === "folder") {
      if (!(await attempt(() => restoreFolder(path, wanted.mode)))) restored.left.push(path);
      else if (present?.kind === "folder") restored.folders.push(path);
      continue;
    }
    const isWritten = await attempt(() => write(path, wanted, present?.kind === wanted.kind ? present : undefined));
    if (isWritten) restored.written.push(path);
    else if (!restored.left.includes(path)) restored.left.push(path);
  }
  return { ...restored, removed: restored.removed.toSorted() };

  async function remove(path: string, present: Kept): Promise<boolean> {
    if (present.kind === "file" && present.hash === null) return false;
    return await replacePath(workspace, { path, present, wanted: null });
  }

  // A folder with files that are not part of checkpoints stays.
  async function removeFolder(path: string): Promise<boolean> {
    await using parent = await pinRealParent(workspace, path);
    return await rmdir(parent.at).then(
      () => true,
      () => false,
    );
  }

  async function restoreFolder(path: string, mode: number): Promise<boolean> {
    await using parent = await pinRealParent(workspace, path);
    if (now.entries.get(path)?.kind !== "folder") await mkdir(parent.at, { mode: 0o700 });
    folders.closeWith(path, mode);
    return true;
  }

  async function write(path: string, wanted: Exclude<Kept, { kind: "folder" }>, present: Kept | undefined): Promise<boolean> {
    if (present?.kind === "file" && present.hash === null) return false;
    const content = await contentOf(objects, wanted);
    return content !== null && (await replacePath(workspace, { path, present, wanted: content }));
  }
}

// null if the content was not kept.
export async function contentOf(objects: ObjectStore, kept: Exclude<Kept, { kind: "folder" }>): Promise<Wanted> {
  if (kept.kind === "link") return kept;
  const { hash, mode }: KeptFile = kept;
  return hash === null ? null : { kind: "file", bytes: await objects.read(hash), mode };
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
