import { isCompactScreen, isNarrowScreen, isTouchScreen } from "../browser/media-query.ts";
import { isMarkdown } from "../text/paths.ts";
import type { TextLocation } from "../state/tabs/cursor.ts";
import { activeFile, openPaths } from "../state/tabs/editor-groups.ts";
import { fileTab, pageTab, previewTab, tabFor, type PageName, type Tab } from "../state/tabs/tab.ts";
import type { State } from "../state/context.ts";

type Deps = Pick<State, "cursor" | "documents" | "layout" | "ports">;

// Actions of a person that open files, previews and pages.
export function createOpenActions({ cursor, documents, layout, ports }: Deps) {
  return { openFile, showFile, showTab, openPage, openMarkdownPreview, openPreview, openPageOfPort };

  // Opens a file to work on it: its tab stays, and its editor takes the keyboard focus.
  function openFile(path: string, target?: TextLocation): void {
    if (target) cursor.reveal({ path, ...target });
    cursor.requestFocus(path);
    showTab(fileTab(path));
    void documents.open(path);
  }

  // Shows a file in the temporary tab and leaves the keyboard focus where it is.
  function showFile(path: string): void {
    const before = openPaths(layout.store.getState());
    uncoverEditor();
    layout.openTemporaryTab(fileTab(path));
    void documents.open(path);
    const after = openPaths(layout.store.getState());
    for (const replaced of before) if (!after.has(replaced)) documents.release(replaced);
  }

  // Shows a tab of any kind.
  function showTab(tab: Tab): void {
    uncoverEditor();
    layout.openTab(tab);
  }

  // Opens a page of the workspace itself, such as the settings.
  function openPage(name: PageName): void {
    showTab(pageTab(name));
  }

  function openMarkdownPreview(): void {
    const path = activeFile(layout.store.getState());
    if (path !== null && isMarkdown(path)) layout.openTab(tabFor("markdown", path));
  }

  // With a mouse, a click on a second file would follow. A finger taps on the file that it wants.
  function uncoverEditor(): void {
    if (isNarrowScreen()) layout.set({ sideOpen: false, agentOpen: false });
    else if (isCompactScreen() && isTouchScreen()) layout.set({ sideOpen: false });
  }

  // Shows a port in the active group.
  function openPreview(port: number): void {
    if (isNarrowScreen()) layout.set({ sideOpen: false, agentOpen: false });
    layout.openTab(previewTab(port));
  }

  // Shows a page of a port. A preview that is open in any group goes there.
  function openPageOfPort(port: number, path: string): void {
    ports.requestPreview(port, path);
    if (!layout.revealTab(previewTab(port).id)) openPreview(port);
  }
}
