import { Copy, Download, Eye, FilePlus, FolderPlus, Pencil, Trash2 } from "lucide-react";
import type { MenuItem } from "../parts/menu.tsx";
import { copyText } from "../browser/clipboard.ts";
import { download } from "../browser/download.ts";
import { parentOf } from "../text/paths.ts";
import { deletePath, isMarkdown, newFile, newFolder, renamePath } from "../state/actions.ts";
import { tabFor } from "../state/page/layout.ts";
import type { Workspace } from "../state/workspace.ts";
import type { TreeNode } from "./tree-data.ts";

export function fileMenu(workspace: Workspace, { path, folder }: TreeNode): MenuItem[] {
  const { api, layout, notices } = workspace;
  const parentFolder = folder ? path : parentOf(path);
  const size = 14;
  const preview: MenuItem = { label: "Preview", icon: <Eye size={size} />, run: () => layout.openTab(tabFor("markdown", path)) };
  return [
    ...(!folder && isMarkdown(path) ? [preview] : []),
    { label: "New file", icon: <FilePlus size={size} />, run: () => void newFile(workspace, parentFolder) },
    { label: "New folder", icon: <FolderPlus size={size} />, run: () => void newFolder(workspace, parentFolder) },
    {
      label: folder ? "Download as zip" : "Download",
      icon: <Download size={size} />,
      divided: true,
      run: () => download(folder ? api.archiveUrl(path) : api.fileUrl(path), path),
    },
    {
      label: "Copy path",
      icon: <Copy size={size} />,
      run: () => void notices.attempt("Could not copy the path", () => copyText(path)),
    },
    { label: "Rename", icon: <Pencil size={size} />, shortcut: "F2", divided: true, run: () => void renamePath(workspace, path) },
    {
      label: "Delete",
      icon: <Trash2 size={size} />,
      shortcut: "Del",
      danger: true,
      run: () => void deletePath(workspace, { path, folder }),
    },
  ];
}
