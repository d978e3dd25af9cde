import type { KeyboardEvent } from "react";
import { loadModule } from "../browser/load-module.ts";
import { matchesShortcut } from "../browser/shortcuts.ts";
import type { Uses } from "../actions/actions.ts";
import type { FileDeps } from "../actions/file-actions.ts";
import { findByPrefix, type TreeNode, type TreeRows } from "./tree-rows.ts";

type Deps = FileDeps & Uses<"mayEdit" | "showFile" | "toggleFolder">;

export interface TreeView {
  rows: TreeRows;
  // The focused row, or -1.
  focusedIndex: number;
  // How many rows fit on the screen.
  pageSize: number;
  isExpanded: (path: string) => boolean;
}

const TYPE_AHEAD_MS = 800;
// The keys that change files.
const CHANGES = new Set(["Mod+V", "Mod+X", "Mod+Z", "F2", "Delete", "Mod+Backspace"]);

// The keyboard of the tree. Returns a handler that returns whether the key had a meaning.
export function createTreeKeys(deps: Deps): (event: KeyboardEvent, view: TreeView) => boolean {
  const { tree, toggleFolder } = deps;
  const loadActions = async () => (await loadModule(() => import("../actions/file-actions.ts"))).createFileActions(deps);
  let typed = "";
  let typedAtMs = 0;
  const isTyping = () => typed !== "" && performance.now() - typedAtMs < TYPE_AHEAD_MS;

  return (event, view) => {
    const node = view.rows.at(view.focusedIndex);
    const target = rowReached(event.key, view);
    if (target !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
      if (event.shiftKey) tree.extendTo(target.path, view.rows.between);
      else tree.select(target.path);
      return true;
    }
    return runShortcut(event, view, node) || typeAhead(event, view);
  };

  function runShortcut(event: KeyboardEvent, view: TreeView, node: TreeNode | undefined): boolean {
    const chosen = () => tree.chosen(node?.path ?? null);
    const remove = async () => {
      const paths = chosen();
      await (await loadActions()).deletePaths(paths);
    };
    const actions: [string, () => unknown][] = [
      ["Mod+A", () => tree.selectAll(view.rows.all())],
      ["Mod+V", async () => (await loadActions()).paste()],
      ["Mod+Z", async () => (await loadActions()).undoLast()],
      ["Escape", () => (node ? tree.select(node.path) : tree.clear(), tree.hold(null))],
    ];
    if (node)
      actions.push(
        ["Enter", () => activate(node, deps.openFile)],
        [" ", () => (isTyping() ? typeAhead(event, view) : activate(node, deps.showFile))],
        ["ArrowRight", () => node.folder && !view.isExpanded(node.path) && toggleFolder(node.path)],
        ["ArrowLeft", () => node.folder && view.isExpanded(node.path) && toggleFolder(node.path)],
        ["F2", () => tree.name({ kind: "rename", path: node.path })],
        ["Delete", remove],
        ["Mod+Backspace", remove],
        ["Mod+C", () => tree.hold({ kind: "copy", paths: chosen() })],
        ["Mod+X", () => tree.hold({ kind: "cut", paths: chosen() })],
      );
    const allowed = deps.mayEdit ? actions : actions.filter(([shortcut]) => !CHANGES.has(shortcut));
    const action = allowed.find(([shortcut]) => matchesShortcut(event, shortcut));
    void action?.[1]();
    return action !== undefined;
  }

  function activate(node: TreeNode, openNode: (path: string) => void): void {
    if (node.folder) toggleFolder(node.path);
    else openNode(node.path);
  }

  // Letters typed quickly one after the other are the start of a name.
  function typeAhead({ key, ctrlKey, metaKey, altKey }: KeyboardEvent, { rows, focusedIndex }: TreeView): boolean {
    if (key.length !== 1 || ctrlKey || metaKey || altKey) return false;
    typed = isTyping() ? typed + key : key;
    typedAtMs = performance.now();
    // One letter moves on to the next name; more letters may still fit the focused one.
    const found = findByPrefix(rows, Math.max(0, focusedIndex + (typed.length === 1 ? 1 : 0)), typed);
    if (found) tree.select(found.path);
    return true;
  }
}

// The row that a key moves to. Right and Left move only if there is nothing to expand or to collapse.
function rowReached(key: string, { rows, focusedIndex, pageSize, isExpanded }: TreeView): TreeNode | undefined {
  const last = rows.count - 1;
  const at = (index: number) => rows.at(Math.max(0, Math.min(last, index)));
  const node = rows.at(focusedIndex);
  switch (key) {
    case "ArrowDown":
      return at(focusedIndex + 1);
    case "ArrowUp":
      return at(focusedIndex - 1);
    case "Home":
      return at(0);
    case "End":
      return at(last);
    case "PageDown":
      return at(focusedIndex + pageSize);
    case "PageUp":
      return at(focusedIndex - pageSize);
    case "ArrowRight": {
      const child = rows.at(focusedIndex + 1);
      return node?.folder && isExpanded(node.path) && child && child.level > node.level ? child : undefined;
    }
    case "ArrowLeft":
      return node && !(node.folder && isExpanded(node.path)) ? rows.at(rows.indexOf(node.parent)) : undefined;
    default:
      return undefined;
  }
}
