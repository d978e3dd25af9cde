import { chmod, lstat, mkdir, readlink, rmdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { AppError } from "@berth/contract/errors.ts";
import type { WorkspaceFolder } from "../../files/workspace-folder.ts";
import { systemCode } from "../../http/errors.ts";
import type { Difference } from "../checkpoints/checkpoints.ts";
import { isSame, type Kept, type KeptFile, versionOf } from "../checkpoints/manifest.ts";
import { hashOf, type ObjectStore } from "../checkpoints/object-store.ts";
import { openFolders } from "../checkpoints/open-folders.ts";
import { pinRealParent, replacePath } from "../checkpoints/replace-path.ts";
import { contentOf } from "../checkpoints/restore.ts";
import { modeOf, readStable } from "../checkpoints/scan.ts";
import { textOf } from "./file-change.ts";
import { revise, type Revision, type TextChange } from "../text-diff/text-change.ts";

export interface RevertOptions {
  workspace: WorkspaceFolder;
  objects: ObjectStore;
  // All differences of the turn. They say which folders it made and deleted.
  differences: Difference[];
  path: string;
  revision: Revision;
}

type Side = "before" | "after";

// Far above the size of files that checkpoints keep, because a file may have grown since.
const MAX_BYTES = 16 * 1024 * 1024;

// Gives a path the state that a revision wants. Throws, and changes nothing, if the path has changed since the turn in a place that the
// revision would change.
export async function revertPath({ workspace, objects, differences, path, revision }: RevertOptions): Promise<void> {
  const difference = differences.find((each) => each.path === path);
  if (!difference) throw tooOld();
  const [reverted, wanted] = [revision.reverted, revision.wanted].map((hunks): Side => (hunks.size > 0 ? "before" : "after")) as [
    Side,
    Side,
  ];
  const text = await textOf(objects, difference).catch(() => {
    throw tooOld();
  });
  await using _open = await openFolders(workspace, [path]);
  const { before, after } = difference;
  if (before?.kind === "file" && after?.kind === "file" && text !== null && text.hunks.length > 0)
    return await reviseText(before, after, text);
  await becomeWhole(difference[reverted], difference[wanted], wanted);

  async function reviseText(from: KeptFile, to: KeptFile, change: TextChange): Promise<void> {
    const present = await read(path);
    if (present?.kept.kind !== "file" || !present.bytes) throw changed("The file is not there any more, or is not a text");
    const revised = revise(change, revision, present.bytes);
    if ("conflicts" in revised) throw changed("This part of the file has changed since the turn");
    const modeWith = (hunks: ReadonlySet<number>) => (hunks.size === change.hunks.length ? from.mode : to.mode);
    // A later change of the permissions stays.
    const isModeKnown = present.kept.mode === modeWith(revision.reverted);
    const mode = isModeKnown ? modeWith(revision.wanted) : present.kept.mode;
    await replace(present.kept, { kind: "file", bytes: revised.bytes, mode });
  }

  // Handles changes without lines: new and deleted files, binary files, links, folders and permissions.
  async function becomeWhole(expected: Kept | undefined, next: Kept | undefined, side: Side): Promise<void> {
    const present = (await read(path))?.kept;
    if (isSame(present, next)) return;
    if (!isSame(present, expected)) throw changed(present ? "The file has changed since the turn" : "The file is not there any more");
    if (expected?.kind === "folder" && next?.kind === "folder") return await setMode(path, next.mode);
    if (expected?.kind === "folder") await removeFolder(path);
    const remaining = expected?.kind === "folder" ? undefined : present;
    if (next === undefined || next.kind === "folder") {
      if (remaining) await replace(remaining, null);
      if (next) await makeFolder(path, next.mode);
      else await removeFoldersOfTurn(side);
      return;
    }
    await makeFoldersOfTurn(side);
    const content = await contentOf(objects, next).catch(() => null);
    if (content === null) throw tooOld();
    await replace(remaining, content);
  }

  async function replace(present: Kept | undefined, content: Parameters<typeof replacePath>[1]["wanted"]): Promise<void> {
    if (!(await replacePath(workspace, { path, present, wanted: content }))) throw changed("The file changed at this moment");
  }

  async function read(at: string): Promise<{ kept: Kept; bytes?: Buffer } | null> {
    try {
      await using parent = await pinRealParent(workspace, at);
      const stats = await lstat(parent.at, { bigint: true });
      if (stats.isSymbolicLink()) return { kept: { kind: "link", target: await readlink(parent.at) } };
      if (stats.isDirectory()) return { kept: { kind: "folder", mode: modeOf(stats) } };
      const file = readStable(parent.at, MAX_BYTES);
      if (file === null) throw changed("The file cannot be read");
      const { bytes } = file;
      const kept = {
        kind: "file",
        hash: hashOf(bytes),
        mode: modeOf(file.stats),
        size: bytes.length,
        version: versionOf(file.stats),
      } as const;
      return { kept, bytes };
    } catch (error) {
      if (["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "")) return null;
      throw error;
    }
  }

  async function setMode(folder: string, mode: number): Promise<void> {
    await using pinned = await pinRealParent(workspace, `${folder}/entry`);
    await chmod(pinned.folder, mode);
  }

  async function makeFolder(folder: string, mode: number | undefined): Promise<void> {
    await using parent = await pinRealParent(workspace, folder);
    await mkdir(parent.at).catch(async (error: unknown) => {
      if (systemCode(error) !== "EEXIST" || !(await stat(parent.at)).isDirectory()) throw changed(`${folder} is not a folder any more`);
    });
    if (mode !== undefined) await setMode(folder, mode);
  }

  async function removeFolder(folder: string): Promise<void> {
    await using parent = await pinRealParent(workspace, folder);
    await rmdir(parent.at).catch(() => {
      throw changed("The folder is not empty. Decide about the files in it first");
    });
  }

  // The folders of the path, from the outside, with their modes.
  async function makeFoldersOfTurn(side: Side): Promise<void> {
    for (const folder of parentsOf(path).toReversed()) {
      if ((await read(folder))?.kept.kind === "folder") continue;
      const kept = differences.find((each) => each.path === folder)?.[side];
      await makeFolder(folder, kept?.kind === "folder" ? kept.mode : undefined);
    }
  }

  // Removes the folders that the turn has made for the file, if they are empty.
  async function removeFoldersOfTurn(side: Side): Promise<void> {
    for (const folder of parentsOf(path)) {
      const made = differences.find((each) => each.path === folder);
      if (!made || made[side] !== undefined) return;
      const isRemoved = await removeFolder(folder).then(
        () => true,
        () => false,
      );
      if (!isRemoved) return;
    }
  }
}

const parentsOf = (path: string): string[] => {
  const parent = dirname(path);
  return parent === "." ? [] : [parent, ...parentsOf(parent)];
};

const changed = (reason: string) =>
  new AppError("changed", { message: `${reason}. Nothing was changed; use Compare to change it by hand` });
const tooOld = () => new AppError("not_found", { message: "This change is too old: the files of before it are no longer kept" });
