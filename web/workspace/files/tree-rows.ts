import type { NamedEntry } from "@berth/contract/daemon.ts";
import type { Naming } from "../state/page/tree.ts";
import { isFolder, onlyFolderIn, type FilesState } from "../state/sandbox/files.ts";
import { joinPath, nameOf, parentOf } from "../text/paths.ts";

// One row of the tree.
export interface TreeNode {
  path: string;
  // The text of the row. A folder that contains nothing but one folder shares its row, as in "a/b".
  name: string;
  // The folder that the row is shown in.
  parent: string;
  level: number;
  folder: boolean;
  link: boolean;
  // The place among its siblings, from 1, and their number.
  position: number;
  siblings: number;
}

export interface TreeRows {
  nodes: readonly TreeNode[];
  // -1 if the path is not shown. `near` is a row close to it: the positions in a large folder take long to collect.
  indexOf(path: string, near?: number): number;
  // The paths of the rows from one path to another, in the order of the tree.
  between(from: string, to: string): string[];
}

// Where the rows of an expanded folder are.
interface Place {
  start: number;
  nodes: FolderNodes;
  // The rows below its expanded folders.
  inner: { position: number; rows: number }[];
}

// The path of the row in which the name of a new file or folder is typed. No file has this name.
export const NEW_NAME = "\0";

// The rows that the expanded folders show, top down. Nothing is made twice: the nodes of a folder are kept with its list, and
// so are their positions, because a map of all rows takes too long to make for every change.
export function visibleRows(folders: FilesState["folders"], expanded: ReadonlySet<string>, naming: Naming | null): TreeRows {
  // Rows that follow each other in the tree. Lists are copied as a whole, because a loop over 50,000 rows takes too long.
  const parts: TreeNode[][] = [];
  let count = 0;
  const places = new Map<string, Place>();
  // The rows whose index does not follow from their name: shared rows, and the row of a new name.
  const special = new Map<string, number>();
  const newIn = naming !== null && naming.kind !== "rename" ? naming.folder : null;
  addFolder("", 0);
  const nodes = parts.flat();

  function add(part: TreeNode[]): void {
    parts.push(part);
    count += part.length;
  }

  function addFolder(path: string, level: number): void {
    if (path === newIn) {
      special.set(joinPath(path, NEW_NAME), count);
      add([newNode(path, level)]);
    }
    const own = nodesOf(folders[path], path, level);
    const place: Place = { start: count, nodes: own, inner: [] };
    places.set(path, place);
    let added = 0;
    for (const node of own.folders) {
      if (!expanded.has(node.path)) continue;
      add(own.list.slice(added, node.position - 1));
      added = node.position;
      const shown = sharedRow(node);
      add([shown]);
      if (!expanded.has(shown.path)) continue;
      const before = count;
      addFolder(shown.path, level + 1);
      place.inner.push({ position: node.position, rows: count - before });
    }
    add(added === 0 ? own.list : own.list.slice(added));
  }

  function sharedRow(node: TreeNode): TreeNode {
    let { path } = node;
    for (let only = onlyFolder(path); only !== null; only = onlyFolder(path)) {
      special.set(path, count);
      path = joinPath(path, only);
    }
    if (path === node.path) return node;
    special.set(path, count);
    return { ...node, path, name: path.slice(node.parent === "" ? 0 : node.parent.length + 1) };
  }

  function onlyFolder(path: string): string | null {
    return expanded.has(path) && path !== newIn ? onlyFolderIn(folders[path]) : null;
  }

  function indexOf(path: string, near = 0): number {
    for (const index of [near, near + 1, near - 1, nodes.length - 1]) if (nodes[index]?.path === path) return index;
    const place = places.get(parentOf(path));
    const position = place?.nodes.positionOf(nameOf(path));
    if (place === undefined || position === undefined) return special.get(path) ?? -1;
    const above = place.inner.reduce((sum, inner) => (inner.position < position ? sum + inner.rows : sum), 0);
    return place.start + position - 1 + above;
  }

  return {
    nodes,
    indexOf,
    between(from, to) {
      const ends = [indexOf(from), indexOf(to)].filter((index) => index >= 0);
      return nodes.slice(Math.min(...ends), Math.max(...ends) + 1).map(({ path }) => path);
    },
  };
}

interface FolderNodes {
  level: number;
  list: TreeNode[];
  folders: TreeNode[];
  // From 1.
  positionOf: (name: string) => number | undefined;
}

const cached = new WeakMap<NamedEntry[], FolderNodes>();
const noNodes: FolderNodes = { level: 0, list: [], folders: [], positionOf: () => undefined };

function nodesOf(entries: NamedEntry[] | undefined, folder: string, level: number): FolderNodes {
  if (entries === undefined) return noNodes;
  const known = cached.get(entries);
  if (known?.level === level) return known;
  // The repository's own data. In a worktree it is a file.
  const shown = entries.filter(({ name }) => name !== ".git");
  const list = shown.map((entry, i) => ({
    path: joinPath(folder, entry.name),
    name: entry.name,
    parent: folder,
    level,
    folder: isFolder(entry),
    link: entry.type === "link",
    position: i + 1,
    siblings: shown.length,
  }));
  let positions: Map<string, number> | null = null;
  const positionOf = (name: string) => (positions ??= new Map(list.map((node) => [node.name, node.position]))).get(name);
  const nodes = { level, list, folders: list.filter(({ folder: isFolderNode }) => isFolderNode), positionOf };
  cached.set(entries, nodes);
  return nodes;
}

const newNode = (folder: string, level: number): TreeNode => ({
  path: joinPath(folder, NEW_NAME),
  name: "",
  parent: folder,
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
