import type { State } from "../state/context.ts";
import { isFolder } from "../state/sandbox/files.ts";
import { parentOf } from "../text/paths.ts";

const generatedFolder = /(^|\/)(node_modules|\.git|\.venv|__pycache__)\//;

// Actions of a person in the file tree.
export function createTreeActions({ files, layout, tree }: Pick<State, "files" | "layout" | "tree">) {
  return { targetFolder, revealInTree, startNew };

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
}
