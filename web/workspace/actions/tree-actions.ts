import type { State } from "../state/context.ts";
import { isFolder, onlyFolderIn } from "../state/sandbox/files.ts";
import { joinPath, parentOf } from "../text/paths.ts";

const generatedFolder = /(^|\/)(node_modules|\.git|\.venv|__pycache__)\//;

// Actions of a person in the file tree.
export function createTreeActions({ files, layout, tree }: Pick<State, "files" | "layout" | "tree">) {
  return { targetFolder, revealInTree, startNew, toggleFolder };

  // The folder that a new or pasted file belongs to: the focused one, or the one that contains the focused file.
  function targetFolder(): string {
    const { focused } = tree.store.getState();
    if (focused === null) return "";
    const entry = files.entryAt(focused);
    return entry && isFolder(entry) ? focused : parentOf(focused);
  }

  // Selects a file in the tree and expands the folders above it, except those that tools fill.
  function revealInTree(path: string): void {
    if (!generatedFolder.test(path)) layout.expandTo(path);
    tree.select(path);
  }

  // Lets the person type the name of a new file or folder in the tree.
  async function startNew(kind: "file" | "folder", folder = targetFolder()): Promise<void> {
    layout.showSideView("files");
    await files.ensure(folder);
    if (folder !== "") layout.expandTo(`${folder}/`);
    tree.name({ kind, folder });
  }

  function toggleFolder(path: string): void {
    if (!layout.store.getState().expanded.includes(path)) return void expandFolder(path);
    layout.set(({ expanded }) => ({ expanded: expanded.filter((folder) => folder !== path) }));
  }

  // Also expands the folders below that share its row, and moves the selection to the last of them.
  async function expandFolder(path: string): Promise<void> {
    layout.set(({ expanded }) => ({ expanded: [...expanded.filter((folder) => folder !== path), path] }));
    await files.ensure(path);
    const only = onlyFolderIn(files.store.getState().folders[path]);
    if (only === null || !layout.store.getState().expanded.includes(path)) return;
    const inner = joinPath(path, only);
    await files.ensure(inner);
    if (tree.store.getState().focused === path) tree.select(inner);
    if (!layout.store.getState().expanded.includes(inner)) await expandFolder(inner);
  }
}
