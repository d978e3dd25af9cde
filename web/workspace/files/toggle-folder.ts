import { onlyFolderIn } from "../state/sandbox/files.ts";
import { joinPath } from "../text/paths.ts";
import type { Uses } from "../actions/actions.ts";

type Deps = Uses<"files" | "layout" | "tree">;

export function toggleFolder(deps: Deps, path: string): void {
  const { layout } = deps;
  if (!layout.store.getState().expanded.includes(path)) return void expandFolder(deps, path);
  layout.set(({ expanded }) => ({ expanded: expanded.filter((folder) => folder !== path) }));
}

// Also expands the folders below that share its row, and moves the selection to the last of them.
async function expandFolder(deps: Deps, path: string): Promise<void> {
  const { layout, files, tree } = deps;
  layout.set(({ expanded }) => ({ expanded: [...expanded.filter((folder) => folder !== path), path] }));
  await files.ensure(path);
  const only = onlyFolderIn(files.store.getState().folders[path]);
  if (only === null || !layout.store.getState().expanded.includes(path)) return;
  const inner = joinPath(path, only);
  await files.ensure(inner);
  if (tree.store.getState().focused === path) tree.select(inner);
  if (!layout.store.getState().expanded.includes(inner)) await expandFolder(deps, inner);
}
