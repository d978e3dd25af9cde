import { chmod, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { WorkspaceFolder } from "../../files/workspace-folder.ts";
import { pinRealParent } from "./replace-path.ts";
import { modeOf } from "./scan.ts";

// The owner may read, write and enter.
const OWNER = 0o700;

export interface OpenFolders extends AsyncDisposable {
  // The folder gets this mode in the end.
  closeWith(path: string, mode: number): void;
}

// Makes the folders of these paths writable. They get their modes back in the end.
export async function openFolders(workspace: WorkspaceFolder, paths: string[]): Promise<OpenFolders> {
  const modes = new Map<string, number>();
  const folders = new Set<string>();
  for (const path of paths) for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) folders.add(folder);
  // Outer folders first, because the inner ones can only be reached through them.
  for (const folder of [...folders].toSorted()) {
    await withFolder(workspace, folder, async (at) => {
      const mode = modeOf(await stat(at, { bigint: true }));
      if ((mode & OWNER) === OWNER) return;
      await chmod(at, mode | OWNER);
      modes.set(folder, mode);
    });
  }
  return {
    closeWith: (path, mode) => void modes.set(path, mode),
    async [Symbol.asyncDispose]() {
      for (const [folder, mode] of [...modes].toSorted(([a], [b]) => (a < b ? 1 : -1)))
        await withFolder(workspace, folder, (at) => chmod(at, mode));
    },
  };
}

// A folder that is gone, or belongs to another user, stays as it is.
async function withFolder(workspace: WorkspaceFolder, folder: string, work: (at: string) => Promise<void>): Promise<void> {
  try {
    await using pinned = await pinRealParent(workspace, `${folder}/entry`);
    await work(pinned.folder);
  } catch {}
}
