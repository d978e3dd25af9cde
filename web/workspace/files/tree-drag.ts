import { useRef, useState, type DragEvent } from "react";
import { usePage, useSandbox, useSession } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { loadModule } from "../browser/load-module.ts";
import { isWithin, parentOf } from "../text/paths.ts";
import type { TreeNode } from "./tree-rows.ts";
import { isFileDrag, uploadDropped } from "./uploads.ts";

const EXPAND_AFTER_MS = 700;

// Drag and drop in the tree: rows move, or are copied with Ctrl, and files from the desktop are uploaded. The target is a
// folder, the folder of a file, or the workspace ("").
export function useTreeDrag(nodeAt: (event: DragEvent) => TreeNode | undefined) {
  const deps = { ...usePage(), ...useSandbox(), ...useSession(), ...useActions() };
  const { tree, layout, tabDrag, mayEdit, toggleFolder } = deps;
  const [target, setTarget] = useState<string | null>(null);
  const dragged = useRef<string[]>([]);
  const expanding = useRef<{ path: string; timer: ReturnType<typeof setTimeout> } | null>(null);

  const folderUnder = (event: DragEvent) => {
    const node = nodeAt(event);
    return node === undefined ? "" : node.folder ? node.path : parentOf(node.path);
  };
  const mayDrop = (event: DragEvent, folder: string) =>
    mayEdit && (isFileDrag(event.dataTransfer) || (dragged.current.length > 0 && !dragged.current.some((path) => isWithin(folder, path))));

  // A collapsed folder expands when something is held over it.
  function expandSoon(node: TreeNode | undefined): void {
    const path = node?.folder && !layout.store.getState().expanded.includes(node.path) ? node.path : null;
    if (expanding.current?.path === path) return;
    clearTimeout(expanding.current?.timer);
    expanding.current = path === null ? null : { path, timer: setTimeout(() => toggleFolder(path), EXPAND_AFTER_MS) };
  }

  function end(): void {
    expandSoon(undefined);
    setTarget(null);
    tabDrag.end();
    dragged.current = [];
  }

  async function place(paths: string[], folder: string, how: "copyInto" | "moveInto"): Promise<void> {
    const { createFileActions } = await loadModule(() => import("../actions/file-actions.ts"));
    await createFileActions(deps)[how](paths, folder);
  }

  const handlers = {
    onDragStart(event: DragEvent) {
      const node = nodeAt(event);
      if (!node) return event.preventDefault();
      if (!tree.store.getState().selected.has(node.path)) tree.select(node.path);
      dragged.current = tree.chosen(node.path);
      event.dataTransfer.setData("text/plain", dragged.current.join("\n"));
      event.dataTransfer.effectAllowed = "copyMove";
      tabDrag.start({ kind: "files", paths: dragged.current });
      if (dragged.current.length > 1) showCount(event.dataTransfer, dragged.current.length);
    },
    onDragOver(event: DragEvent) {
      const folder = folderUnder(event);
      const allowed = mayDrop(event, folder);
      setTarget(allowed ? folder : null);
      if (!allowed) return;
      event.preventDefault();
      event.stopPropagation();
      event.dataTransfer.dropEffect = isFileDrag(event.dataTransfer) || event.ctrlKey ? "copy" : "move";
      expandSoon(nodeAt(event));
    },
    onDragLeave(event: DragEvent) {
      if (event.relatedTarget instanceof Node && event.currentTarget.contains(event.relatedTarget)) return;
      expandSoon(undefined);
      setTarget(null);
    },
    onDrop(event: DragEvent) {
      const folder = folderUnder(event);
      const paths = dragged.current;
      const allowed = mayDrop(event, folder);
      end();
      if (!allowed) return;
      event.preventDefault();
      event.stopPropagation();
      if (isFileDrag(event.dataTransfer)) uploadDropped(deps, event.dataTransfer, folder);
      else void place(paths, folder, event.ctrlKey ? "copyInto" : "moveInto");
    },
    onDragEnd: end,
  };
  return { target, handlers };
}

// The browser would show only the row under the pointer. It draws the element right after this event.
function showCount(data: DataTransfer, count: number): void {
  const label = document.createElement("div");
  label.className = "drag-count";
  label.textContent = `${count} items`;
  document.body.append(label);
  data.setDragImage(label, -12, -8);
  setTimeout(() => label.remove());
}
