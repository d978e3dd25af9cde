import { lazy, Suspense, useEffect, useMemo, useRef, useState, type FocusEvent, type KeyboardEvent, type MouseEvent } from "react";
import { loadModule } from "../browser/load-module.ts";
import { usePage, usePageState, useSandbox, useSandboxState, useSession } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { activeFile } from "../state/tabs/editor-groups.ts";
import { othersIn } from "../state/together/together.ts";
import { joinPath, nameOf, parentOf } from "../text/paths.ts";
import { useTreeDrag } from "./tree-drag.ts";
import { createTreeKeys } from "./tree-keys.ts";
import { TreeRow } from "./tree-row.tsx";
import { NEW_NAME, visibleRows, type TreeNode } from "./tree-rows.ts";
import { useFocusedRow } from "./use-focused-row.ts";
import { ROW_HEIGHT, useVisibleRange, type RowRange } from "../browser/use-visible-range.ts";

const FileMenu = lazy(() => loadModule(() => import("./file-menu.tsx")));

// The file tree. Only the rows on the screen exist in the page, and the row with the keyboard focus.
export function FileTree() {
  const [page, sandbox, session, actions] = [usePage(), useSandbox(), useSession(), useActions()];
  const { tree } = page;
  const { files } = sandbox;
  const folders = useSandboxState("files", (state) => state.folders);
  const ignored = useSandboxState("files", (state) => state.ignored);
  const expandedList = usePageState("layout", (state) => state.expanded);
  const active = usePageState("layout", activeFile);
  const { focused, selected, naming, clipboard } = usePageState("tree", (state) => state);
  const marks = useSandboxState("git", (state) => state.marks);
  const alone = useSandboxState("together", (state) => othersIn(state).length === 0);
  // As a text, because that stays the same while someone types in one of the files.
  const unsavedList = usePageState("documents", ({ files: opened }) =>
    Object.entries(opened)
      .flatMap(([path, file]) => (file.kind === "text" && file.document.edited ? [path] : []))
      .join("\0"),
  );
  const scroller = useRef<HTMLDivElement>(null);
  const range = useVisibleRange(scroller);
  const [menu, setMenu] = useState<{ at: { x: number; y: number }; node: TreeNode } | null>(null);

  const expanded = useMemo(() => new Set(expandedList), [expandedList]);
  const rows = useMemo(() => visibleRows(folders, expanded, naming), [folders, expanded, naming]);
  const unsaved = useMemo(() => new Set(unsavedList.split("\0")), [unsavedList]);
  const cut = useMemo(() => new Set(clipboard?.kind === "cut" ? clipboard.paths : []), [clipboard]);
  const onKey = useMemo(() => createTreeKeys({ ...page, ...sandbox, ...session, ...actions }), [page, sandbox, session, actions]);
  const nodeAt = (event: { target: EventTarget }) => {
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-index]") : null;
    return row ? rows.at(Number(row.dataset["index"])) : undefined;
  };
  const drag = useTreeDrag(nodeAt);

  const focusedIndex = useFocusedRow(scroller, {
    focused,
    index: rows.indexOf(focused ?? ""),
    count: rows.count,
  });
  useEffect(() => {
    for (const path of expandedList) void files.ensure(path);
  }, [files, expandedList]);
  useEffect(() => {
    if (active !== null && tree.store.getState().focused !== active) actions.revealInTree(active);
  }, [actions, tree, active]);

  const onClick = (event: MouseEvent) => {
    const node = nodeAt(event);
    if (!node) return void (event.target === event.currentTarget && tree.clear());
    if (event.shiftKey) return tree.extendTo(node.path, rows.between);
    if (event.ctrlKey || event.metaKey) return tree.toggle(node.path);
    tree.select(node.path);
    if (node.folder) actions.toggleFolder(node.path);
    else actions.showFile(node.path);
  };
  const onDoubleClick = (event: MouseEvent) => {
    const node = nodeAt(event);
    if (node && !node.folder && !event.shiftKey && !event.ctrlKey && !event.metaKey) actions.openFile(node.path);
  };
  const onContextMenu = (event: MouseEvent) => {
    const node = nodeAt(event);
    if (!node) return;
    event.preventDefault();
    if (!selected.has(node.path)) tree.select(node.path);
    setMenu({ at: { x: event.clientX, y: event.clientY }, node });
  };
  const onFocus = (event: FocusEvent) => {
    const node = nodeAt(event);
    if (node && node.path !== focused) tree.focus(node.path);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const pageSize = Math.floor((scroller.current?.clientHeight ?? 0) / ROW_HEIGHT);
    const view = { rows, focusedIndex, pageSize, isExpanded: (path: string) => expanded.has(path) };
    if (onKey(event, view)) event.preventDefault();
  };

  const rowAt = (index: number) => {
    const node = rows.at(index);
    if (!node) return null;
    const isNamed = node.name === "" || (naming?.kind === "rename" && naming.path === node.path);
    return (
      <TreeRow
        key={node.path}
        node={node}
        index={index}
        expanded={node.folder && expanded.has(node.path)}
        selected={selected.has(node.path)}
        active={node.path === active}
        focusable={index === Math.max(0, focusedIndex)}
        dimmed={cut.has(node.path) || ignored[parentOf(node.path)]?.has(nameOf(node.path)) === true}
        dropTarget={node.folder && drag.target === node.path}
        unsaved={unsaved.has(node.path)}
        change={marks.get(node.path)}
        alone={alone}
        naming={isNamed ? naming : null}
      />
    );
  };
  const namingIndex = naming === null ? -1 : rows.indexOf(naming.kind === "rename" ? naming.path : joinPath(naming.folder, NEW_NAME));

  return (
    <>
      <div
        ref={scroller}
        role="tree"
        aria-label="Files"
        aria-multiselectable="true"
        tabIndex={-1}
        className={drag.target === "" ? "tree drop" : "tree"}
        onClick={onClick}
        onDoubleClick={onDoubleClick}
        onContextMenu={onContextMenu}
        onFocus={onFocus}
        onKeyDown={onKeyDown}
        {...drag.handlers}
      >
        <div role="none" className="tree-rows" style={{ height: rows.count * ROW_HEIGHT }}>
          {indexesIn(range, rows.count, [focusedIndex, namingIndex]).map(rowAt)}
        </div>
      </div>
      <Suspense>{menu && <FileMenu {...menu} onClose={() => setMenu(null)} />}</Suspense>
    </>
  );
}

function indexesIn({ first, end }: RowRange, count: number, others: number[]): number[] {
  const visible = Array.from({ length: Math.max(0, Math.min(end, count) - first) }, (_, i) => first + i);
  const outside = others.filter((index) => index >= 0 && (index < first || index >= end));
  return [...visible, ...new Set(outside)];
}
