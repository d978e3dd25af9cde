import type { ItemInstance } from "@headless-tree/core";
import { ChevronRight, Folder, FolderOpen } from "lucide-react";
import type { CSSProperties, MouseEvent } from "react";
import { useWorkspaceState } from "../state/context.ts";
import { FileIcon } from "../parts/file-icon.tsx";
import type { TreeNode } from "./tree-data.ts";

interface TreeRowProps {
  item: ItemInstance<TreeNode>;
  active: boolean;
  onContextMenu: (event: MouseEvent) => void;
}

export function TreeRow({ item, active, onContextMenu }: TreeRowProps) {
  const path = item.getId();
  const folder = item.isFolder();
  const expanded = folder && item.isExpanded();
  const unsaved = useWorkspaceState("documents", ({ files }) => {
    const file = files[path];
    return file?.kind === "text" && file.document.edited;
  });
  return (
    <button
      type="button"
      {...item.getProps()}
      className={item.isDragTarget() ? "tree-row drop" : "tree-row"}
      aria-selected={active || item.isSelected()}
      style={{ "--level": item.getItemMeta().level } as CSSProperties}
      onContextMenu={onContextMenu}
      // The tree's shortcuts act on its focused item, so it must follow the browser's focus.
      onFocus={() => !item.isFocused() && item.setFocused()}
      title={path}
    >
      {folder ? <ChevronRight size={14} className="chevron" /> : <span className="no-chevron" />}
      {folder ? <FolderIcon expanded={expanded} /> : <FileIcon path={path} />}
      <span className="truncate">{item.getItemName()}</span>
      {unsaved && <span className="mark" title="Unsaved" />}
    </button>
  );
}

const FolderIcon = ({ expanded }: { expanded: boolean }) =>
  expanded ? (
    <FolderOpen size={15} strokeWidth={1.7} className="kind folder" />
  ) : (
    <Folder size={15} strokeWidth={1.7} className="kind folder" />
  );
