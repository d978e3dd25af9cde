import {
  ClipboardPaste,
  Copy,
  CopyPlus,
  Download,
  Eye,
  FilePlus,
  FolderPlus,
  History as HistoryIcon,
  Pencil,
  Scissors,
  Trash2,
  Upload,
} from "lucide-react";
import { copyText } from "../browser/clipboard.ts";
import { formatShortcut } from "../browser/shortcuts.ts";
import { Menu, type MenuItem } from "../parts/menu.tsx";
import { usePage, useSandbox, useSession } from "../state/context.ts";
import { useActions, type Uses } from "../actions/actions.ts";
import { createFileActions, type FileDeps } from "../actions/file-actions.ts";
import { downloadFile, downloadFolder } from "../actions/download-action.ts";
import { createGitActions, type GitDeps } from "../actions/git-actions.ts";
import { tabFor } from "../state/tabs/tab.ts";
import { isMarkdown, nameOf, parentOf } from "../text/paths.ts";
import type { TreeNode } from "./tree-rows.ts";
import { chooseUpload } from "./uploads.ts";

type Deps = FileDeps & GitDeps & Uses<"mayEdit" | "startNew" | "transfers">;

const size = 14;
// The items that change nothing.
const VIEWER_ITEMS = /^(Preview$|History$|Download|Copy path)/;

export interface FileMenuProps {
  node: TreeNode;
  at: { x: number; y: number };
  onClose: () => void;
}

// The menu of a row. If the row is selected, it applies to the whole selection.
export default function FileMenu({ node, at, onClose }: FileMenuProps) {
  const deps = { ...usePage(), ...useSandbox(), ...useSession(), ...useActions() };
  return <Menu label={nameOf(node.path)} at={at} items={itemsFor(deps, node)} onClose={onClose} />;
}

function itemsFor(deps: Deps, node: TreeNode): MenuItem[] {
  const { tree, mayEdit } = deps;
  const { deletePaths, duplicate } = createFileActions(deps);
  const paths = tree.chosen(node.path);
  const all = [
    ...(paths.length === 1 ? itemsForOne(deps, node) : []),
    { label: "Cut", icon: <Scissors size={size} />, shortcut: "Mod+X", divided: true, run: () => tree.hold({ kind: "cut", paths }) },
    { label: "Copy", icon: <Copy size={size} />, shortcut: "Mod+C", run: () => tree.hold({ kind: "copy", paths }) },
    ...pasteItem(deps, node),
    { label: "Duplicate", icon: <CopyPlus size={size} />, run: () => void duplicate(paths) },
    {
      label: paths.length === 1 ? "Copy path" : "Copy paths",
      icon: <Copy size={size} />,
      run: () => void deps.notices.attempt("Could not copy the path", () => copyText(paths.join("\n"))),
    },
    ...(paths.length === 1 ? [renameItem(deps, node)] : []),
    {
      label: paths.length === 1 ? "Delete" : `Delete ${paths.length} items`,
      icon: <Trash2 size={size} />,
      shortcut: "Delete",
      danger: true,
      divided: paths.length > 1,
      run: () => void deletePaths(paths),
    },
  ].map(withShortcut);
  return mayEdit ? all : all.filter(({ label }) => VIEWER_ITEMS.test(label));
}

function itemsForOne(deps: Deps, { path, folder }: TreeNode): MenuItem[] {
  const { layout } = deps;
  const parentFolder = folder ? path : parentOf(path);
  const preview: MenuItem = { label: "Preview", icon: <Eye size={size} />, run: () => layout.openTab(tabFor("markdown", path)) };
  const commits: MenuItem = {
    label: "History",
    icon: <HistoryIcon size={size} />,
    run: () => void createGitActions(deps).pickRevision(path),
  };
  return [
    ...(!folder && isMarkdown(path) ? [preview] : []),
    ...(!folder && deps.git.store.getState().repository ? [commits] : []),
    { label: "New file", icon: <FilePlus size={size} />, run: () => void deps.startNew("file", parentFolder) },
    { label: "New folder", icon: <FolderPlus size={size} />, run: () => void deps.startNew("folder", parentFolder) },
    { label: "Upload files", icon: <Upload size={size} />, run: () => chooseUpload(deps, "files", parentFolder) },
    {
      label: folder ? "Download as zip" : "Download",
      icon: <Download size={size} />,
      divided: true,
      run: () => void (folder ? downloadFolder : downloadFile)(deps, path),
    },
  ];
}

function pasteItem(deps: Deps, { path, folder }: TreeNode): MenuItem[] {
  if (deps.tree.store.getState().clipboard === null) return [];
  const target = folder ? path : parentOf(path);
  return [
    { label: "Paste", icon: <ClipboardPaste size={size} />, shortcut: "Mod+V", run: () => void createFileActions(deps).paste(target) },
  ];
}

const renameItem = ({ tree }: Deps, { path }: TreeNode): MenuItem => ({
  label: "Rename",
  icon: <Pencil size={size} />,
  shortcut: "F2",
  divided: true,
  run: () => tree.name({ kind: "rename", path }),
});

const withShortcut = (item: MenuItem): MenuItem =>
  item.shortcut === undefined ? item : { ...item, shortcut: formatShortcut(item.shortcut) };
