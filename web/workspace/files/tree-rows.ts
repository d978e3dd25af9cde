import type { NamedEntry } from "@berth/contract/daemon.ts";
import type { Naming, Selection } from "../state/page/tree.ts";
import { indexesByName, isFolder, isGit, onlyFolderIn, type FilesState } from "../state/sandbox/files.ts";
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
  count: number;
  // A row is made when it is first asked for, and then stays the same.
  at(index: number): TreeNode | undefined;
  // -1 if the path is not shown.
  indexOf(path: string): number;
  // The rows from one path to another, in the order of the tree.
  between(from: string, to: string): Selection;
  all(): Selection;
}

// Rows that follow each other in the tree.
interface Part {
  start: number;
  at: (offset: number) => TreeNode | undefined;
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

// The rows that the expanded folders show, top down. Its time depends on the number of folders, not of files: the rows of a
// folder are kept with its list and made only when they are shown or searched.
export function visibleRows(folders: FilesState["folders"], expanded: ReadonlySet<string>, naming: Naming | null): TreeRows {
  const parts: Part[] = [];
  let count = 0;
  const places = new Map<string, Place>();
  // The rows whose index does not follow from their name: shared rows, and the row of a new name.
  const special = new Map<string, number>();
  const newIn = naming !== null && naming.kind !== "rename" ? naming.folder : null;
  addFolder("", 0);

  function add(added: number, nodeAt: Part["at"]): void {
    if (added > 0) parts.push({ start: count, at: nodeAt });
    count += added;
  }

  function addFolder(path: string, level: number): void {
    if (path === newIn) {
      special.set(joinPath(path, NEW_NAME), count);
      const node = newNode(path, level);
      add(1, () => node);
    }
    const own = nodesOf(folders[path] ?? [], path, level);
    const place: Place = { start: count, nodes: own, inner: [] };
    places.set(path, place);
    let added = 0;
    for (let position = 1; position <= own.folders; position++) {
      const node = own.at(position);
      if (!node || !expanded.has(node.path)) continue;
      addOwn(own, added, position - 1);
      added = position;
      const shown = sharedRow(node);
      add(1, () => shown);
      if (!expanded.has(shown.path)) continue;
      const before = count;
      addFolder(shown.path, level + 1);
      place.inner.push({ position, rows: count - before });
    }
    addOwn(own, added, own.count);
  }

  // The rows after the position `from`, up to the position `to`.
  function addOwn(own: FolderNodes, from: number, to: number): void {
    add(to - from, (offset) => own.at(from + offset + 1));
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

  function at(index: number): TreeNode | undefined {
    let [low, high] = [0, parts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((parts[middle]?.start ?? 0) <= index) low = middle;
      else high = middle - 1;
    }
    const part = parts[low];
    return part && index >= 0 && index < count ? part.at(index - part.start) : undefined;
  }

  function indexOf(path: string): number {
    const place = places.get(parentOf(path));
    const position = place?.nodes.positionOf(nameOf(path));
    if (place === undefined || position === undefined) return special.get(path) ?? -1;
    const above = place.inner.reduce((sum, inner) => (inner.position < position ? sum + inner.rows : sum), 0);
    return place.start + position - 1 + above;
  }

  // A set of 50,000 paths would take too long to make.
  function range(first: number, last: number): Selection {
    return {
      has(path) {
        const index = indexOf(path);
        return index >= first && index <= last && at(index)?.path === path;
      },
      *[Symbol.iterator]() {
        for (let index = first; index <= last; index++) {
          const node = at(index);
          if (node) yield node.path;
        }
      },
    };
  }

  return {
    count,
    at,
    indexOf,
    between(from, to) {
      const ends = [indexOf(from), indexOf(to)].filter((index) => index >= 0);
      return range(Math.min(...ends), Math.max(...ends));
    },
    all: () => range(0, count - 1),
  };
}

interface FolderNodes {
  level: number;
  count: number;
  // How many of the first rows are folders.
  folders: number;
  // From 1.
  at: (position: number) => TreeNode | undefined;
  positionOf: (name: string) => number | undefined;
}

const cached = new WeakMap<NamedEntry[], FolderNodes>();

function nodesOf(entries: NamedEntry[], folder: string, level: number): FolderNodes {
  const known = cached.get(entries);
  if (known?.level === level) return known;
  const shown = entries.some(isGit) ? entries.filter((entry) => !isGit(entry)) : entries;
  const made: (TreeNode | undefined)[] = [];
  const at = (position: number) => {
    const entry = shown[position - 1];
    return entry && (made[position] ??= nodeOf(entry, { folder, level, position, siblings: shown.length }));
  };
  const positionOf = (name: string) => {
    const index = indexesByName(shown).get(name);
    return index === undefined ? undefined : index + 1;
  };
  // The daemon lists folders first.
  const firstFile = shown.findIndex((entry) => !isFolder(entry));
  const nodes = { level, count: shown.length, folders: firstFile === -1 ? shown.length : firstFile, at, positionOf };
  cached.set(entries, nodes);
  return nodes;
}

interface NodePlace {
  folder: string;
  level: number;
  position: number;
  siblings: number;
}

const nodeOf = (entry: NamedEntry, { folder, level, position, siblings }: NodePlace): TreeNode => ({
  path: joinPath(folder, entry.name),
  name: entry.name,
  parent: folder,
  level,
  folder: isFolder(entry),
  link: entry.type === "link",
  position,
  siblings,
});

const newNode = (folder: string, level: number): TreeNode => ({
  ...nodeOf({ name: NEW_NAME, type: "file" }, { folder, level, position: 1, siblings: 1 }),
  name: "",
});

// The next row below `from` whose name starts with the typed letters, starting over at the top.
export function findByPrefix({ count, at }: TreeRows, from: number, typed: string): TreeNode | undefined {
  const wanted = typed.toLowerCase();
  for (let step = 0; step < count; step++) {
    const node = at((from + step) % count);
    if (node?.name.toLowerCase().startsWith(wanted)) return node;
  }
  return undefined;
}
