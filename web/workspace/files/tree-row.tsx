import { ChevronRight, CornerDownRight, Folder, FolderOpen } from "lucide-react";
import { memo, type CSSProperties } from "react";
import { lazyPart } from "../browser/lazy-part.ts";
import { FileIcon } from "../parts/file-icon.tsx";
import { PersonMarks } from "../parts/person-marks.tsx";
import { othersAt } from "../state/together/together.ts";
import { useSandboxState } from "../state/context.ts";
import { letterOf, type GitMark } from "../state/git/git-marks.ts";
import type { Naming } from "../state/page/tree.ts";
import { nameOf } from "../text/paths.ts";
import type { TreeNode } from "./tree-rows.ts";
import { ROW_HEIGHT } from "../browser/use-visible-range.ts";

export const NameField = lazyPart(() => import("./name-field.tsx"));

export interface TreeRowProps {
  node: TreeNode;
  index: number;
  expanded: boolean;
  selected: boolean;
  // Whether the active tab shows this file.
  active: boolean;
  // The one row that Tab reaches.
  focusable: boolean;
  // Cut, or ignored by Git.
  dimmed: boolean;
  dropTarget: boolean;
  unsaved: boolean;
  change: GitMark | undefined;
  // Whether no other person is in the session.
  alone: boolean;
  // Set while the name in this row is typed.
  naming: Naming | null;
}

// The tree handles all events and reads the stores, because rows appear and disappear while it scrolls and subscriptions of their
// own would take most of that time. A row renders again only when one of these values changes.
export const TreeRow = memo(function TreeRow({
  node,
  index,
  expanded,
  selected,
  active,
  focusable,
  dimmed,
  dropTarget,
  unsaved,
  change,
  alone,
  naming,
}: TreeRowProps) {
  const { path, name, level, folder, link, position, siblings } = node;
  const style = { top: index * ROW_HEIGHT, "--level": level } as CSSProperties;
  if (naming !== null)
    return (
      <div className="tree-row naming" role="treeitem" aria-level={level + 1} aria-selected="true" aria-label={name || "New"} style={style}>
        <RowIcon path={path} folder={folder || naming.kind === "folder"} expanded={expanded} />
        <NameField naming={naming} name={naming.kind === "rename" ? nameOf(path) : ""} />
      </div>
    );
  return (
    <div
      role="treeitem"
      className={["tree-row", dimmed && "dimmed", dropTarget && "drop", change && `git-${change}`].filter(Boolean).join(" ")}
      data-index={index}
      tabIndex={focusable ? 0 : -1}
      aria-level={level + 1}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-selected={selected}
      aria-current={active}
      aria-expanded={folder ? expanded : undefined}
      aria-label={name}
      aria-description={change}
      draggable
      style={style}
      title={path}
    >
      <RowIcon path={path} folder={folder} expanded={expanded} />
      <span className="truncate">{name}</span>
      {link && <CornerDownRight size={12} className="link-mark" aria-hidden="true" />}
      {!alone && <OthersAt path={path} />}
      {unsaved && <span className="mark" title="Unsaved" />}
      {change && <span className="git-letter" title={change} data-letter={folder ? "•" : letterOf(change)} />}
    </div>
  );
});

function OthersAt({ path }: { path: string }) {
  return <PersonMarks people={useSandboxState("together", (state) => othersAt(state, path))} />;
}

function RowIcon({ path, folder, expanded }: { path: string; folder: boolean; expanded: boolean }) {
  if (!folder) return <FileIcon path={path} />;
  const Icon = expanded ? FolderOpen : Folder;
  return (
    <>
      <ChevronRight size={14} className="chevron" aria-hidden="true" />
      <Icon className="kind folder" aria-hidden="true" />
    </>
  );
}
