import type { FileChangeDone } from "../state/page/file-history.ts";
import { isWithin, joinPath, movedPath, nameOf, parentOf } from "../text/paths.ts";
import { ApiError } from "../connection/api.ts";
import { copyName } from "./copy-name.ts";
import type { Uses } from "./actions.ts";

export type FileDeps = Uses<
  "dialogs" | "documents" | "fileHistory" | "files" | "layout" | "notices" | "openFile" | "places" | "targetFolder" | "tree"
>;

const MAX_NAMES = 10;

interface Move {
  from: string;
  to: string;
}

// Actions of a person on files and folders.
export function createFileActions(deps: FileDeps) {
  const { dialogs, documents, fileHistory, files, layout, notices, places, tree, openFile, targetFolder } = deps;
  return { createFile, createFolder, renamePath, moveInto, copyInto, duplicate, paste, deletePaths, undoLast };

  async function createFile(path: string): Promise<void> {
    if (!(await notices.attempt(`Could not create ${path}`, () => files.createFile(path)))) return;
    layout.expandTo(path);
    tree.select(path);
    openFile(path);
  }

  async function createFolder(path: string): Promise<void> {
    if (!(await notices.attempt(`Could not create ${path}`, () => files.createFolder(path)))) return;
    layout.expandTo(`${path}/`);
    tree.select(path);
  }

  function renamePath(from: string, to: string): Promise<void> {
    return moveAll([{ from, to }]);
  }

  function moveInto(paths: readonly string[], folder: string): Promise<void> {
    return moveAll(paths.filter((from) => !isWithin(folder, from)).map((from) => ({ from, to: joinPath(folder, nameOf(from)) })));
  }

  function moveAll(moves: readonly Move[]): Promise<void> {
    return fileHistory.run(() =>
      tree.selectResult(async () => {
        const moved: Move[] = [];
        for (const each of moves) if (await move(each)) moved.push(each);
        rememberMoves(moved);
        return moved.map(({ to }) => to);
      }),
    );
  }

  async function move({ from, to }: Move): Promise<boolean> {
    if (from === to) return false;
    await documents.flush(from);
    if (!(await notices.attempt(`Could not move ${from}`, () => files.move(from, to)))) return false;
    documents.moved(from, to);
    layout.renamePath(from, to);
    for (const place of places.all) if (isWithin(place.path, from)) place.path = movedPath(place.path, from, to);
    return true;
  }

  // Remembers the moves, so that they can be undone.
  function rememberMoves(moves: readonly Move[]): void {
    const [first] = moves;
    if (first === undefined) return;
    const text = moves.length > 1 ? `Moved ${moves.length} items` : `Moved ${nameOf(first.from)}`;
    const undo = () =>
      tree.selectResult(async () => {
        for (const { from, to } of moves) await move({ from: to, to: from });
        return moves.map(({ from }) => from);
      });
    fileHistory.add({ text, undo });
  }

  // Copies into a folder. A copy whose name is taken gets another one.
  function copyInto(paths: readonly string[], folder: string): Promise<void> {
    return copyAll(paths, () => folder);
  }

  function duplicate(paths: readonly string[]): Promise<void> {
    return copyAll(paths, parentOf);
  }

  function copyAll(paths: readonly string[], folderFor: (path: string) => string): Promise<void> {
    return tree.selectResult(async () => {
      const copies: string[] = [];
      for (const path of paths) {
        const folder = folderFor(path);
        await files.ensure(folder);
        const isFree = (name: string) => files.isFree(joinPath(folder, name));
        const to = joinPath(folder, isFree(nameOf(path)) ? nameOf(path) : copyName(nameOf(path), isFree));
        if (await notices.attempt(`Could not copy ${path}`, () => files.copy(path, to))) copies.push(to);
      }
      return copies;
    });
  }

  async function paste(folder = targetFolder()): Promise<void> {
    const { clipboard } = tree.store.getState();
    if (clipboard === null) return;
    if (clipboard.kind === "copy") return copyInto(clipboard.paths, folder);
    tree.hold(null);
    await moveInto(clipboard.paths, folder);
  }

  // Deletes files and folders at once, because it can be undone. Asks only if the trash cannot keep them.
  async function deletePaths(paths: readonly string[]): Promise<void> {
    const [first] = paths;
    if (first === undefined) return;
    const text = `Deleted ${paths.length === 1 ? nameOf(first) : `${paths.length} items`}`;
    const remove = async () => {
      const trashed = await files.trash(paths).catch((error: unknown) => {
        if (isUnkeepable(error)) return null;
        throw error;
      });
      if (trashed === null) return deleteForever(paths);
      const change: FileChangeDone = {
        text,
        undo() {
          notices.dismiss(offer);
          return tree.selectResult(() => files.restore(trashed));
        },
      };
      fileHistory.add(change);
      const offer = notices.offer(`${text}.`, { label: "Undo", run: () => void undoChange(change) });
    };
    await fileHistory.run(() => notices.attempt(`Could not delete ${paths.length === 1 ? first : `${paths.length} items`}`, remove));
  }

  async function undoLast(): Promise<void> {
    await fileHistory.settled();
    const change = fileHistory.last();
    if (change) await undoChange(change);
  }

  async function undoChange(change: FileChangeDone): Promise<void> {
    if (!fileHistory.take(change)) return;
    if (!(await notices.attempt(`Could not undo "${change.text}"`, change.undo))) fileHistory.add(change);
  }

  async function deleteForever(paths: readonly string[]): Promise<void> {
    const isDirectory = (path: string) => files.entryAt(path)?.type === "folder";
    const described = paths.slice(0, MAX_NAMES).map((path) => (isDirectory(path) ? `the folder ${path} and everything in it` : path));
    const rest = paths.length > MAX_NAMES ? ` and ${paths.length - MAX_NAMES} more` : "";
    const title = paths.length === 1 ? `Delete ${nameOf(paths[0] ?? "")} permanently?` : `Delete ${paths.length} items permanently?`;
    const text = `This deletes ${described.join(", ")}${rest}. It is too large to keep a copy, so you cannot undo this.`;
    if (!(await dialogs.confirm(title, text, "Delete"))) return;
    for (const path of paths) await files.remove(path);
    await Promise.all([...new Set(paths.map(parentOf))].map(files.reload));
  }
}

// Too large, or there is no room on the disk.
const isUnkeepable = (error: unknown) => error instanceof ApiError && (error.code === "too_large" || error.code === "disk_full");
