import { copyName } from "./copy-name.ts";
import { isWithin, joinPath, nameOf, parentOf, movedPath } from "../../text/paths.ts";
import { openFile } from "./open-actions.ts";
import { isFolder } from "../sandbox/files.ts";
import type { Workspace } from "../workspace.ts";

// Actions of a person on files and folders.

// The folder that a new or pasted file belongs to: the focused one, or the one that contains the focused file.
export function targetFolder({ tree, files }: Workspace): string {
  const { focused } = tree.store.getState();
  if (focused === null) return "";
  const entry = files.entryAt(focused);
  return entry && isFolder(entry) ? focused : parentOf(focused);
}

const generatedFolder = /(^|\/)(node_modules|\.git|\.venv|__pycache__)\//;

// Selects a file in the tree and expands the folders above it, except those that tools fill.
export function revealInTree({ layout, tree }: Workspace, path: string): void {
  if (!generatedFolder.test(path)) layout.expandTo(path);
  tree.select(path);
}

// Lets the person type the name of a new file or folder in the tree.
export async function startNew(workspace: Workspace, kind: "file" | "folder", folder = targetFolder(workspace)): Promise<void> {
  const { layout, files, tree } = workspace;
  layout.showSideView("files");
  await files.ensure(folder);
  if (folder !== "") layout.expandTo(`${folder}/`);
  tree.name({ kind, folder });
}

export async function createFile(workspace: Workspace, path: string): Promise<void> {
  const { notices, files, layout, tree } = workspace;
  if (!(await notices.attempt(`Could not create ${path}`, () => files.createFile(path)))) return;
  layout.expandTo(path);
  tree.select(path);
  openFile(workspace, path);
}

export async function createFolder({ notices, files, layout, tree }: Workspace, path: string): Promise<void> {
  if (!(await notices.attempt(`Could not create ${path}`, () => files.createFolder(path)))) return;
  layout.expandTo(`${path}/`);
  tree.select(path);
}

interface Move {
  from: string;
  to: string;
}

export const renamePath = (workspace: Workspace, from: string, to: string): Promise<void> => moveAll(workspace, [{ from, to }]);

export const moveInto = (workspace: Workspace, paths: readonly string[], folder: string): Promise<void> =>
  moveAll(
    workspace,
    paths.filter((from) => !isWithin(folder, from)).map((from) => ({ from, to: joinPath(folder, nameOf(from)) })),
  );

const moveAll = (workspace: Workspace, moves: readonly Move[]): Promise<void> =>
  workspace.fileHistory.run(() =>
    workspace.tree.selectResult(async () => {
      const moved: Move[] = [];
      for (const each of moves) if (await move(workspace, each)) moved.push(each);
      rememberMoves(workspace, moved);
      return moved.map(({ to }) => to);
    }),
  );

async function move({ documents, notices, files, layout, places }: Workspace, { from, to }: Move): Promise<boolean> {
  if (from === to) return false;
  await documents.flush(from);
  if (!(await notices.attempt(`Could not move ${from}`, () => files.move(from, to)))) return false;
  documents.moved(from, to);
  layout.renamePath(from, to);
  for (const place of places.all) if (isWithin(place.path, from)) place.path = movedPath(place.path, from, to);
  return true;
}

// Remembers the moves, so that they can be undone.
function rememberMoves(workspace: Workspace, moves: readonly Move[]): void {
  const [first] = moves;
  if (first === undefined) return;
  const text = moves.length > 1 ? `Moved ${moves.length} items` : `Moved ${nameOf(first.from)}`;
  const undo = () =>
    workspace.tree.selectResult(async () => {
      for (const { from, to } of moves) await move(workspace, { from: to, to: from });
      return moves.map(({ from }) => from);
    });
  workspace.fileHistory.add({ text, undo });
}

// Copies into a folder. A copy whose name is taken gets another one.
export const copyInto = (workspace: Workspace, paths: readonly string[], folder: string): Promise<void> =>
  workspace.tree.selectResult(() => copyAll(workspace, paths, () => folder));

export const duplicate = (workspace: Workspace, paths: readonly string[]): Promise<void> =>
  workspace.tree.selectResult(() => copyAll(workspace, paths, parentOf));

async function copyAll({ notices, files }: Workspace, paths: readonly string[], folderFor: (path: string) => string): Promise<string[]> {
  const copies: string[] = [];
  for (const path of paths) {
    const folder = folderFor(path);
    await files.ensure(folder);
    const isFree = (name: string) => files.isFree(joinPath(folder, name));
    const to = joinPath(folder, isFree(nameOf(path)) ? nameOf(path) : copyName(nameOf(path), isFree));
    if (await notices.attempt(`Could not copy ${path}`, () => files.copy(path, to))) copies.push(to);
  }
  return copies;
}

export async function paste(workspace: Workspace, folder = targetFolder(workspace)): Promise<void> {
  const { tree } = workspace;
  const { clipboard } = tree.store.getState();
  if (clipboard === null) return;
  if (clipboard.kind === "copy") return copyInto(workspace, clipboard.paths, folder);
  tree.hold(null);
  await moveInto(workspace, clipboard.paths, folder);
}
