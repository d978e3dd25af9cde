import { createStore } from "zustand/vanilla";
import { isWithin } from "../../text/paths.ts";

// A name that the person types in the tree: of a new file or folder, or a new name of a path.
export type Naming = { kind: "file" | "folder"; folder: string } | { kind: "rename"; path: string };

// Paths in the order of the tree.
export interface Selection extends Iterable<string> {
  has(path: string): boolean;
}

export interface TreeState {
  // The row that the keyboard acts on.
  focused: string | null;
  // The start of a range that Shift selects.
  anchor: string | null;
  selected: Selection;
  naming: Naming | null;
  clipboard: { kind: "copy" | "cut"; paths: string[] } | null;
}

const nothing: Selection = new Set();

// The focus and the selection in the file tree, and the entries that are being named, copied or cut.
export function createTree() {
  const store = createStore<TreeState>(() => ({ focused: null, anchor: null, selected: nothing, naming: null, clipboard: null }));
  const set = store.setState;
  return {
    store,
    focus: (path: string) => set({ focused: path }),
    select: (path: string) => set({ focused: path, anchor: path, selected: new Set([path]) }),
    selectAll: (selected: Selection) => set({ selected }),
    // Selects what some work produced, unless the person has selected something else in the meantime.
    async selectResult(work: () => Promise<string[]>) {
      const before = store.getState().selected;
      const paths = await work();
      const [first] = paths;
      if (first !== undefined && store.getState().selected === before) set({ focused: first, anchor: first, selected: new Set(paths) });
    },
    clear: () => set({ focused: null, anchor: null, selected: nothing, clipboard: null }),
    toggle(path: string) {
      set(({ selected }) => {
        const toggled = new Set(selected);
        if (!toggled.delete(path)) toggled.add(path);
        return { focused: path, anchor: path, selected: toggled };
      });
    },
    // Selects from the anchor, or from the focused row, to a path. `between` selects the rows from one path to another.
    extendTo(path: string, between: (from: string, to: string) => Selection) {
      set(({ anchor, focused, selected }) => {
        const from = anchor !== null && selected.has(anchor) ? anchor : (focused ?? path);
        return { focused: path, anchor: from, selected: between(from, path) };
      });
    },
    // The paths that an action on this path applies to: the whole selection if the path is part of it.
    chosen(path: string | null): string[] {
      const { selected } = store.getState();
      if (path === null) return [];
      return selected.has(path) ? topmost([...selected]) : [path];
    },
    name: (naming: Naming | null) => set({ naming }),
    hold: (clipboard: TreeState["clipboard"]) => set({ clipboard }),
  };
}

// Without the paths below other paths in the list, which every action on a folder includes.
export function topmost(paths: readonly string[]): string[] {
  const kept: string[] = [];
  // Sorted with the separator first, a folder comes right before its contents.
  for (const path of paths.toSorted((a, b) => (`${a}/` < `${b}/` ? -1 : 1))) {
    const last = kept.at(-1);
    if (last === undefined || !isWithin(path, last)) kept.push(path);
  }
  return kept;
}
