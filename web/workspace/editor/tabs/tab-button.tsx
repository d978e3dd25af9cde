import { X } from "lucide-react";
import type { DragEvent, MouseEvent } from "react";
import { IconButton } from "../../parts/icon-button.tsx";
import { PersonMarks } from "../../parts/person-marks.tsx";
import { usePage, usePageState, useSandboxState } from "../../state/context.ts";
import { useActions } from "../../actions/actions.ts";
import { othersAt } from "../../state/together/together.ts";
import type { EditorGroup } from "../../state/tabs/editor-group.ts";
import type { Tab } from "../../state/tabs/tab.ts";
import { TabIcon } from "./tab-icon.tsx";
import { folderShown, tabName } from "./tab-names.ts";

export interface TabButtonProps {
  tab: Tab;
  group: EditorGroup;
  // A dragged tab would be dropped before or after this one.
  dropMark: "before" | "after" | null;
  onMenu: (at: { x: number; y: number }) => void;
}

// The close button is only for the mouse. On the keyboard, Delete or the command closes a tab.
export function TabButton({ tab, group, dropMark, onMenu }: TabButtonProps) {
  const page = usePage();
  const { closeTab } = useActions();
  const { layout, tabDrag } = page;
  const active = group.activeTab === tab.id;
  const path = "path" in tab ? tab.path : null;
  const folder = folderShown(tab, group.tabs);
  const here = useSandboxState("together", (state) => othersAt(state, path));
  const { unsaved, gone } = useFileStatus(tab.kind === "file" ? path : null);
  const closeThis = () => void closeTab(group.id, tab.id);

  const onContextMenu = (event: MouseEvent) => {
    event.preventDefault();
    onMenu({ x: event.clientX, y: event.clientY });
  };
  const onDragStart = (event: DragEvent) => {
    event.dataTransfer.setData("text/plain", path ?? tabName(tab));
    event.dataTransfer.effectAllowed = "move";
    tabDrag.start({ kind: "tab", group: group.id, tab: tab.id });
  };

  return (
    <div
      className={gone ? "tab gone" : "tab"}
      data-active={active}
      data-unsaved={unsaved}
      data-temporary={group.temporaryTab === tab.id}
      data-drop={dropMark ?? undefined}
      title={path ?? undefined}
      draggable
      onDragStart={onDragStart}
      onDragEnd={tabDrag.end}
      // A middle click would start to scroll the page, and paste the selected text into the editor on Linux.
      onMouseDown={preventMiddleClickDefault}
      onMouseUp={preventMiddleClickDefault}
      onAuxClick={(event) => event.button === 1 && closeThis()}
      onContextMenu={onContextMenu}
      role="presentation"
    >
      <button
        type="button"
        role="tab"
        aria-selected={active}
        aria-controls={active ? `tab-content-${group.id}` : undefined}
        tabIndex={active ? 0 : -1}
        onClick={() => layout.activateTab(group.id, tab.id)}
        onDoubleClick={() => layout.keepTab(tab.id)}
        onKeyDown={(event) => event.key === "Delete" && closeThis()}
      >
        <TabIcon tab={tab} />
        <span className="name truncate">{tabName(tab)}</span>
        {folder !== null && <span className="where truncate">{folder}</span>}
        <PersonMarks people={here} />
        {unsaved && <span className="visually-hidden">(unsaved)</span>}
      </button>
      <IconButton label={`Close ${tabName(tab)}`} className="close" tabIndex={-1} aria-hidden="true" onClick={closeThis}>
        {unsaved && <span className="dot" />}
        <X size={14} />
      </IconButton>
    </div>
  );
}

const preventMiddleClickDefault = (event: MouseEvent) => void (event.button === 1 && event.preventDefault());

function useFileStatus(path: string | null): { unsaved: boolean; gone: boolean } {
  const file = usePageState("documents", (state) => (path === null ? undefined : state.files[path]));
  if (file?.kind !== "text") return { unsaved: false, gone: file?.kind === "failed" && file.gone };
  return { unsaved: file.document.edited, gone: file.document.conflict?.kind === "deleted" };
}
