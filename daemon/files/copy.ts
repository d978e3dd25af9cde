import { cp, lstat } from "node:fs/promises";
import { dirname } from "node:path";
import type { CopyRequest } from "@berth/contract/daemon.ts";
import { AppError } from "@berth/contract/errors.ts";
import { badRequest } from "../http/errors.ts";
import { parsePath, syncFolder, type WorkspaceFolder } from "./workspace-folder.ts";

// Copies a file, a link as a link, or a folder with its contents.
export async function copy(workspace: WorkspaceFolder, { from, to }: CopyRequest): Promise<void> {
  await using source = await workspace.pinParent(from);
  if ((await lstat(source.at)).isDirectory()) await refuseCopyIntoItself(workspace, from, to);
  await using target = await workspace.pinParent(to, { makeFolders: true });
  if (await lstat(target.at).catch(() => null)) throw new AppError("exists");
  await cp(source.at, target.at, { recursive: true, errorOnExist: true, force: false, verbatimSymlinks: true });
  await syncFolder(target.folder);
}

// Links may lead from `to` back into `from`, so the real paths decide. Folders that do not exist yet cannot be inside.
async function refuseCopyIntoItself(workspace: WorkspaceFolder, from: string, to: string): Promise<void> {
  await using source = await workspace.pin(from).catch(() => null);
  if (source === null) return;
  for (let folder = dirname(parsePath(to)); ; folder = dirname(folder)) {
    await using parent = await workspace.pin(folder === "." ? "" : folder).catch(() => null);
    if (parent && `${parent.real}/`.startsWith(`${source.real}/`)) throw badRequest("A folder cannot be copied into itself");
    if (parent || folder === ".") return;
  }
}
