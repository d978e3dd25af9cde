import type { FileEntry } from "@berth/contract/daemon.ts";
import type { Naming } from "../state/page/tree.ts";
import { isFolder, type FilesState } from "../state/sandbox/files.ts";
import { joinPath } from "../text/paths.ts";

// One row of the tree.
export interface TreeNode {
  path: string;
  name: string;
  level: number;
  folder: boolean;
  link: boolean;
  // The place among its siblings, from 1, and their number.
  position: number;
  siblings: number;
}

export interface TreeRows {
  nodes: readonly TreeNode[];
  // -1 if the path is not shown.
  indexOf(path: string): number;
  // The paths of the rows from one path to another, in the order of the tree.
  between(from: string, to: string): string[];
}

// The path of the row in which the name of a new file or folder is typed. No file has this name.
export const NEW_NAME = "\0";

// The rows that the expanded folders show, top down. Nothing is made twice: the nodes of a folder are kept with its list.
export function visibleRows(folders: FilesState["folders"], expanded: ReadonlySet<string>, naming: Naming | null): TreeRows {
  const nodes: TreeNode[] = [];
  const newIn = naming !== null && naming.kind !== "rename" ? naming.folder : null;
  addFolder("", 0);

  function addFolder(path: string, level: number): void {
    if (path === newIn) nodes.push(newNode(path, level));
    for (const node of nodesOf(folders[path], path, level)) {
      nodes.push(node);
      if (node.folder && expanded.has(node.path)) addFolder(node.path, level + 1);
    }
  }

  let indexes: Map<string, number> | null = null;
  const indexOf = (path: string) => (indexes ??= new Map(nodes.map((node, i) => [node.path, i]))).get(path) ?? -1;
  return {
    nodes,
    indexOf,
    between(from, to) {
      const ends = [indexOf(from), indexOf(to)].filter((index) => index >= 0);
      return nodes.slice(Math.min(...ends), Math.max(...ends) + 1).map(({ path }) => path);
    },
  };
}

const cached = new WeakMap<FileEntry[], TreeNode[]>();

function nodesOf(entries: FileEntry[] | undefined, folder: string, level: number): TreeNode[] {
  if (entries === undefined) return [];
  const known = cached.get(entries);
  if (known) return known;
  // The repository's own data. In a worktree it is a file.
  const shown = entries.filter(({ name }) => name !== ".git");
  const nodes = shown.map((entry, i) => ({
    path: joinPath(folder, entry.name),
    name: entry.name,
    level,
    folder: isFolder(entry),
    link: entry.type === "link",
    position: i + 1,
    siblings: shown.length,
  }));
  cached.set(entries, nodes);
  return nodes;
}

const newNode = (folder: string, level: number): TreeNode => ({
  path: joinPath(folder, NEW_NAME),
  name: "",
  level,
  folder: false,
  link: false,
  position: 1,
  siblings: 1,
});

// The next row below `from` whose name starts with the typed letters, starting over at the top.
export function findByPrefix({ nodes }: TreeRows, from: number, typed: string): TreeNode | undefined {
  const wanted = typed.toLowerCase();
  for (let step = 0; step < nodes.length; step++) {
    const node = nodes[(from + step) % nodes.length];
    if (node?.name.toLowerCase().startsWith(wanted)) return node;
  }
  return undefined;
}
