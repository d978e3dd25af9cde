import { randomBytes } from "node:crypto";
import { cp, lstat, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { MoveRequest } from "@berth/contract/daemon.ts";
import { AppError } from "@berth/contract/errors.ts";
import { systemCode } from "../http/errors.ts";
import { TEMPORARY_PREFIX } from "./walk.ts";
import { syncFolder, type PinnedParent, type WorkspaceFolder } from "./workspace-folder.ts";

export async function move(workspace: WorkspaceFolder, { from, to, overwrite }: MoveRequest): Promise<void> {
  await using source = await workspace.pinParent(from);
  await using target = await workspace.pinParent(to, { makeFolders: true });
  await lstat(source.at);
  const existing = await lstat(target.at).catch(() => null);
  if (existing && !overwrite && !(await isSame(source.at, target.at))) throw new AppError("exists");
  try {
    await rename(source.at, target.at);
  } catch (error) {
    if (systemCode(error) !== "EXDEV") throw error;
    await moveToOtherDisk(source, target);
  }
  await syncFolder(target.folder);
}

// A volume, or /tmp, is a file system of its own, and a rename does not lead from one to another. The copy appears under its name only
// when it is complete.
async function moveToOtherDisk(source: PinnedParent, target: PinnedParent): Promise<void> {
  const temporary = join(target.folder, TEMPORARY_PREFIX + randomBytes(8).toString("hex"));
  try {
    await cp(source.at, temporary, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    await rename(temporary, target.at);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
  await rm(source.at, { recursive: true, force: true });
}

// On a case-insensitive file system, renaming "a" to "A" finds the file itself at the target.
async function isSame(a: string, b: string): Promise<boolean> {
  const [first, second] = [await lstat(a), await lstat(b)];
  return first.ino === second.ino && first.dev === second.dev;
}
