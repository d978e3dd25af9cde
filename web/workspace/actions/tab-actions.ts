import { activeGroupOf, activeTabOf, openPaths, type DropPlace } from "../state/tabs/editor-groups.ts";
import type { Dragged } from "../state/tabs/tab-drag.ts";
import { fileTab, type Tab } from "../state/tabs/tab.ts";
import { nameOf } from "../text/paths.ts";
import type { State } from "../state/context.ts";

type Deps = Pick<State, "dialogs" | "documents" | "files" | "layout">;

// Actions of a person on tabs.
export function createTabActions({ dialogs, documents, layout, files }: Deps) {
  return {
    closeTab,
    closeActiveTab,
    closeAllTabs: (group: string) => closeTabs(group, tabsOf(group)),
    closeOtherTabs: (group: string, id: string) =>
      closeTabs(
        group,
        tabsOf(group).filter((tab) => tab.id !== id),
      ),
    closeTabsToTheRight(group: string, id: string) {
      const tabs = tabsOf(group);
      return closeTabs(group, tabs.slice(tabs.findIndex((tab) => tab.id === id) + 1));
    },
    closeSavedTabs: (group: string) =>
      closeTabs(
        group,
        tabsOf(group).filter((tab) => !(tab.kind === "file" && isEdited(tab.path))),
      ),
    dropOnEditor,
  };

  // Returns false if the person decided to keep the tab.
  async function closeTab(group: string, id: string): Promise<boolean> {
    const tab = tabsOf(group).find((candidate) => candidate.id === id);
    if (!tab) return true;
    if (tab.kind !== "file" || isInOtherGroup(group, id)) {
      layout.closeTab(group, id);
      if ("path" in tab && !openPaths(layout.store.getState()).has(tab.path)) documents.release(tab.path);
      return true;
    }
    if (isEdited(tab.path) && !(await mayClose(tab.path))) return false;
    layout.closeTab(group, id);
    documents.close(tab.path);
    // A comparison or a preview of the file shows the text on disk from now on.
    if (openPaths(layout.store.getState()).has(tab.path)) void documents.open(tab.path);
    return true;
  }

  // Asks what happens to the unsaved text of a file.
  async function mayClose(path: string): Promise<boolean> {
    const answer = await dialogs.ask({
      title: `Save changes to ${nameOf(path)}?`,
      text: "If you don't save, your changes to this file are lost.",
      choices: [
        { id: "discard", label: "Don't save", kind: "danger" },
        { id: "save", label: "Save", kind: "primary" },
      ],
    });
    if (answer === null) return false;
    return answer.choice !== "save" || documents.save(path);
  }

  async function closeActiveTab(): Promise<void> {
    const state = layout.store.getState();
    const tab = activeTabOf(state);
    if (tab) await closeTab(activeGroupOf(state).id, tab.id);
  }

  // The first tab that the person decides to keep ends it.
  async function closeTabs(group: string, tabs: Tab[]): Promise<void> {
    for (const { id } of tabs) if (!(await closeTab(group, id))) return;
  }

  // Moves a dropped tab, or opens the dropped files.
  function dropOnEditor(dragged: Dragged, place: DropPlace): void {
    if (dragged.kind === "tab") return layout.moveTab(dragged, place);
    const [first, ...others] = dragged.paths.filter((path) => files.entryAt(path)?.type !== "folder");
    if (first === undefined) return;
    layout.placeTab(fileTab(first), place);
    void documents.open(first);
    // The group of the first file is active now.
    for (const path of others) layout.openTab(fileTab(path));
  }

  function isEdited(path: string): boolean {
    return documents.documentAt(path)?.edited === true;
  }

  function tabsOf(group: string): Tab[] {
    return layout.store.getState().groups.find((candidate) => candidate.id === group)?.tabs ?? [];
  }

  function isInOtherGroup(group: string, id: string): boolean {
    return layout.store.getState().groups.some((other) => other.id !== group && other.tabs.some((tab) => tab.id === id));
  }
}
