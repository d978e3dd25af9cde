import { dragAndDropFeature, hotkeysCoreFeature, selectionFeature, syncDataLoaderFeature, type ItemInstance } from "@headless-tree/core";
import { useTree } from "@headless-tree/react";
import { useEffect, useState, type MouseEvent } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { Menu } from "../parts/menu.tsx";
import { isWithin, joinPath, nameOf } from "../text/paths.ts";
import { deletePath, movePath, openFile, renamePath } from "../state/actions.ts";
import { fileMenu } from "./file-menu.tsx";
import { childPaths, ROOT, treeNode, type TreeNode } from "./tree-data.ts";
import { TreeRow } from "./tree-row.tsx";
import { isFileDrag, uploadDropped } from "./upload.ts";

// The file tree. headless-tree handles keyboard, focus, selection and drag; the data stays in our stores.
export function FileTree() {
  const workspace = useWorkspace();
  const { files, layout } = workspace;
  const state = useWorkspaceState("files", (value) => value);
  const expanded = useWorkspaceState("layout", (value) => value.expanded);
  const activeTab = useWorkspaceState("layout", (value) => value.activeTab);
  const [menu, setMenu] = useState<{ at: { x: number; y: number }; path: string } | null>(null);
  const [focusedItem, setFocusedItem] = useState<string | null>(null);
  const [selectedItems, setSelectedItems] = useState<string[]>([]);

  const tree = useTree<TreeNode>({
    rootItemId: ROOT,
    state: { expandedItems: expanded, focusedItem, selectedItems },
    setExpandedItems: (update) => layout.set((now) => ({ expanded: typeof update === "function" ? update(now.expanded) : update })),
    setFocusedItem,
    setSelectedItems,
    getItemName: (item) => item.getItemData().name,
    isItemFolder: (item) => item.getItemData().folder,
    dataLoader: {
      getItem: (id) => treeNode(files.store.getState(), id),
      getChildren: (id) => childPaths(files.store.getState(), id),
    },
    indent: 12,
    canReorder: false,
    onPrimaryAction: (item) => {
      if (!item.isFolder()) openFile(workspace, item.getId());
    },
    canDrop: (items, { item }) => item.isFolder() && items.every((dragged) => !isWithin(pathOf(item), dragged.getId())),
    onDrop: async (items, { item }) => {
      for (const dragged of items) await movePath(workspace, dragged.getId(), joinPath(pathOf(item), nameOf(dragged.getId())));
    },
    canDropForeignDragObject: (data, { item }) => isFileDrag(data) && item.isFolder(),
    canDragForeignDragObjectOver: (data, { item }) => isFileDrag(data) && item.isFolder(),
    onDropForeignDragObject: (data, { item }) => uploadDropped(workspace, data, pathOf(item)),
    hotkeys: {
      customRename: { hotkey: "F2", handler: (_event, { getFocusedItem }) => void renamePath(workspace, getFocusedItem().getId()) },
      customDelete: {
        hotkey: "Delete",
        handler: (_event, { getFocusedItem }) => void deletePath(workspace, getFocusedItem().getItemData()),
      },
      customOpen: { hotkey: "Enter", handler: (_event, { getFocusedItem }) => activate(getFocusedItem()) },
    },
    features: [syncDataLoaderFeature, selectionFeature, hotkeysCoreFeature, dragAndDropFeature],
  });

  useEffect(() => tree.rebuildTree(), [tree, state.folders, expanded]);
  useEffect(() => {
    for (const path of expanded) void files.ensure(path);
  }, [files, expanded]);

  const activate = (item: ItemInstance<TreeNode>) => {
    if (!item.isFolder()) return openFile(workspace, item.getId());
    if (item.isExpanded()) item.collapse();
    else item.expand();
  };
  const openMenu = (event: MouseEvent, path: string) => {
    event.preventDefault();
    setMenu({ at: { x: event.clientX, y: event.clientY }, path });
  };

  return (
    <>
      <div {...tree.getContainerProps("Files")} className="tree">
        {tree.getItems().map((item) => (
          <TreeRow
            key={item.getKey()}
            item={item}
            active={activeTab === `file:${item.getId()}`}
            onContextMenu={(event) => openMenu(event, item.getId())}
          />
        ))}
      </div>
      {expanded.concat("").some((folder) => state.truncated[folder]) && (
        <p className="tree-note">Some folders have more files than shown here. Search covers all of them.</p>
      )}
      {menu && (
        <Menu
          label={nameOf(menu.path)}
          at={menu.at}
          items={fileMenu(workspace, treeNode(state, menu.path))}
          onClose={() => setMenu(null)}
        />
      )}
    </>
  );
}

const pathOf = (item: ItemInstance<TreeNode>) => (item.getId() === ROOT ? "" : item.getId());
