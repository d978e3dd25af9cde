import { Eye, GitCompare, Globe, X } from "lucide-react";
import type { KeyboardEvent, MouseEvent } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { FileIcon } from "../parts/file-icon.tsx";
import { IconButton } from "../parts/icon-button.tsx";
import { nameOf, parentOf } from "../text/paths.ts";
import { useTabStrip } from "../parts/use-tab-strip.ts";
import { closeTab, isMarkdown, openMarkdownPreview } from "../state/actions.ts";
import type { Tab } from "../state/page/layout.ts";

export function TabBar({ tabs, activeTab }: { tabs: Tab[]; activeTab: string | null }) {
  const workspace = useWorkspace();
  const strip = useTabStrip(activeTab);
  const active = tabs.find(({ id }) => id === activeTab);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    workspace.layout.cycleTab(event.key === "ArrowRight" ? 1 : -1);
    requestAnimationFrame(() => strip.ref.current?.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]')?.focus());
  };

  return (
    <div className="tabs">
      <div {...strip} className="tab-list" role="tablist" aria-label="Open files" tabIndex={-1} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <TabButton key={tab.id} tab={tab} active={tab.id === activeTab} showFolder={isNameAmbiguous(tab, tabs)} />
        ))}
      </div>
      {active?.kind === "file" && isMarkdown(active.path) && (
        <div className="tab-actions">
          <IconButton label="Open preview" onClick={() => openMarkdownPreview(workspace)}>
            <Eye size={15} />
          </IconButton>
        </div>
      )}
    </div>
  );
}

// Files with the same name also show their folder.
const isNameAmbiguous = (tab: Tab, tabs: Tab[]) =>
  "path" in tab &&
  tabs.some((other) => other.id !== tab.id && other.kind === tab.kind && "path" in other && nameOf(other.path) === nameOf(tab.path));

// The close button is only for the mouse. On the keyboard, Delete or the command closes a tab.
function TabButton({ tab, active, showFolder }: { tab: Tab; active: boolean; showFolder: boolean }) {
  const workspace = useWorkspace();
  const path = "path" in tab ? tab.path : null;
  const temporary = useWorkspaceState("layout", ({ temporaryTab }) => temporaryTab === tab.id);
  const { unsaved, gone } = useFileStatus(tab.kind === "file" ? path : null);
  const closeThis = () => void closeTab(workspace, tab.id);
  const onAuxClick = (event: MouseEvent) => event.button === 1 && closeThis();
  return (
    <div
      className={gone ? "tab gone" : "tab"}
      data-active={active}
      data-unsaved={unsaved}
      data-temporary={temporary}
      title={path ?? undefined}
      onAuxClick={onAuxClick}
      role="presentation"
    >
      <button
        type="button"
        role="tab"
        aria-selected={active}
        aria-controls={active ? "tab-content" : undefined}
        tabIndex={active ? 0 : -1}
        onClick={() => workspace.layout.set({ activeTab: tab.id })}
        onDoubleClick={() => workspace.layout.keepTab(tab.id)}
        onKeyDown={(event) => event.key === "Delete" && closeThis()}
      >
        <TabIcon tab={tab} />
        <span className="name truncate">{tabName(tab)}</span>
        {showFolder && path && <span className="where">{parentOf(path) || "workspace"}</span>}
        {unsaved && <span className="hidden-visually">(unsaved)</span>}
      </button>
      <IconButton label={`Close ${tabName(tab)}`} className="close" tabIndex={-1} aria-hidden="true" onClick={closeThis}>
        {unsaved && <span className="dot" />}
        <X size={14} />
      </IconButton>
    </div>
  );
}

function useFileStatus(path: string | null): { unsaved: boolean; gone: boolean } {
  const file = useWorkspaceState("documents", (state) => (path === null ? undefined : state.files[path]));
  if (file?.kind !== "text") return { unsaved: false, gone: file?.kind === "failed" && file.gone };
  return { unsaved: file.document.edited, gone: file.document.conflict?.kind === "deleted" };
}

function TabIcon({ tab }: { tab: Tab }) {
  if (tab.kind === "preview") return <Globe size={14} />;
  if (tab.kind === "diff" || tab.kind === "compare") return <GitCompare size={14} />;
  if (tab.kind === "markdown") return <Eye size={14} />;
  return <FileIcon path={tab.path} />;
}

const suffixes = { file: "", diff: ": changes", compare: ": compare", markdown: ": preview" };
const tabName = (tab: Tab) => (tab.kind === "preview" ? `Port ${tab.port}` : nameOf(tab.path) + suffixes[tab.kind]);
