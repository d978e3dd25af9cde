import { isCompactScreen, isNarrowScreen, isTouchScreen } from "../../browser/media-query.ts";
import { extensionOf } from "../../text/paths.ts";
import type { TextLocation } from "../tabs/cursor.ts";
import { activeTabOf, openTabs } from "../tabs/editor-groups.ts";
import { fileTab, pageTab, previewTab, tabFor, type PageName, type Tab } from "../tabs/tab.ts";
import type { Workspace } from "../workspace.ts";

// Actions of a person that open files, previews and pages.

// Opens a file to work on it: its tab stays, and its editor takes the keyboard focus.
export function openFile(workspace: Workspace, path: string, target?: TextLocation): void {
  const { layout, documents, cursor } = workspace;
  if (target) cursor.reveal({ path, ...target });
  cursor.requestFocus(path);
  uncoverEditor(workspace);
  layout.openTab(fileTab(path));
  void documents.open(path);
}

// Shows a file in the temporary tab and leaves the keyboard focus where it is.
export function showFile(workspace: Workspace, path: string): void {
  const { layout, documents } = workspace;
  const before = openPaths(workspace);
  uncoverEditor(workspace);
  layout.openTemporaryTab(fileTab(path));
  void documents.open(path);
  const after = openPaths(workspace);
  for (const replaced of before) if (!after.has(replaced)) documents.release(replaced);
}

// Shows a tab of any kind.
export function showTab(workspace: Workspace, tab: Tab): void {
  uncoverEditor(workspace);
  workspace.layout.openTab(tab);
}

// With a mouse, a click on a second file would follow. A finger taps on the file that it wants.
function uncoverEditor({ layout }: Workspace): void {
  if (isNarrowScreen()) layout.set({ sideOpen: false, agentOpen: false });
  else if (isCompactScreen() && isTouchScreen()) layout.set({ sideOpen: false });
}

// Shows a port in the active group.
export function openPreview({ layout }: Workspace, port: number): void {
  if (isNarrowScreen()) layout.set({ sideOpen: false, agentOpen: false });
  layout.openTab(previewTab(port));
}

// Shows a page of a port. A preview that is open in any group goes there.
export function openPageOfPort(workspace: Workspace, port: number, path: string): void {
  workspace.ports.requestPreview(port, path);
  if (!workspace.layout.revealTab(previewTab(port).id)) openPreview(workspace, port);
}

export function openMarkdownPreview({ layout }: Workspace): void {
  const tab = activeTabOf(layout.store.getState());
  if (tab?.kind === "file" && isMarkdown(tab.path)) layout.openTab(tabFor("markdown", tab.path));
}

// The files that a tab shows.
export const openPaths = ({ layout }: Workspace): Set<string> =>
  new Set(openTabs(layout.store.getState()).flatMap((tab) => ("path" in tab ? [tab.path] : [])));

export const isMarkdown = (path: string): boolean => ["md", "markdown"].includes(extensionOf(path));

// Opens a page of the workspace itself, such as the settings.
export function openPage(workspace: Workspace, page: PageName): void {
  uncoverEditor(workspace);
  workspace.layout.openTab(pageTab(page));
}
