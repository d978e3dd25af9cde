import { nameOf } from "../../text/paths.ts";
import { openPaths } from "./open-actions.ts";
import { activeGroupOf, activeTabOf, type DropPlace } from "../tabs/editor-groups.ts";
import { fileTab, type Tab } from "../tabs/tab.ts";
import type { Dragged } from "../tabs/tab-drag.ts";
import type { Workspace } from "../workspace.ts";

// Actions of a person on tabs.

// Returns false if the person decided to keep the tab.
export async function closeTab(workspace: Workspace, group: string, id: string): Promise<boolean> {
  const { layout, documents } = workspace;
  const tab = tabsOf(workspace, group).find((candidate) => candidate.id === id);
  if (!tab) return true;
  if (tab.kind !== "file" || isFileInOtherGroup(workspace, group, id)) {
    layout.closeTab(group, id);
    if ("path" in tab && !openPaths(workspace).has(tab.path)) documents.release(tab.path);
    return true;
  }
  if (documents.documentAt(tab.path)?.edited && !(await mayClose(workspace, tab.path))) return false;
  layout.closeTab(group, id);
  documents.close(tab.path);
  // A comparison or a preview of the file shows the text on disk from now on.
  if (openPaths(workspace).has(tab.path)) void documents.open(tab.path);
  return true;
}

// Asks what happens to the unsaved text of a file.
async function mayClose({ dialogs, documents }: Workspace, path: string): Promise<boolean> {
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

export async function closeActiveTab(workspace: Workspace): Promise<void> {
  const state = workspace.layout.store.getState();
  const tab = activeTabOf(state);
  if (tab) await closeTab(workspace, activeGroupOf(state).id, tab.id);
}

export async function closeOtherActiveTabs(workspace: Workspace): Promise<void> {
  const state = workspace.layout.store.getState();
  const tab = activeTabOf(state);
  if (tab) await closeOtherTabs(workspace, activeGroupOf(state).id, tab.id);
}

// The first tab that the person decides to keep ends it.
async function closeTabs(workspace: Workspace, group: string, tabs: Tab[]): Promise<void> {
  for (const { id } of tabs) if (!(await closeTab(workspace, group, id))) return;
}

export const closeAllTabs = (workspace: Workspace, group: string): Promise<void> => closeTabs(workspace, group, tabsOf(workspace, group));

export const closeOtherTabs = (workspace: Workspace, group: string, id: string): Promise<void> =>
  closeTabs(
    workspace,
    group,
    tabsOf(workspace, group).filter((tab) => tab.id !== id),
  );

export function closeTabsToTheRight(workspace: Workspace, group: string, id: string): Promise<void> {
  const tabs = tabsOf(workspace, group);
  return closeTabs(workspace, group, tabs.slice(tabs.findIndex((tab) => tab.id === id) + 1));
}

export function closeSavedTabs(workspace: Workspace, group: string): Promise<void> {
  const isUnsaved = (tab: Tab) => tab.kind === "file" && workspace.documents.documentAt(tab.path)?.edited;
  return closeTabs(
    workspace,
    group,
    tabsOf(workspace, group).filter((tab) => !isUnsaved(tab)),
  );
}

// Moves a dropped tab, or opens the dropped files.
export function dropOnEditor({ layout, documents, files }: Workspace, dragged: Dragged, place: DropPlace): void {
  if (dragged.kind === "tab") return layout.moveTab(dragged, place);
  const [first, ...others] = dragged.paths.filter((path) => files.entryAt(path)?.type !== "folder");
  if (first === undefined) return;
  layout.placeTab(fileTab(first), place);
  void documents.open(first);
  // The group of the first file is active now.
  for (const path of others) layout.openTab(fileTab(path));
}

const tabsOf = ({ layout }: Workspace, group: string): Tab[] =>
  layout.store.getState().groups.find((candidate) => candidate.id === group)?.tabs ?? [];

const isFileInOtherGroup = ({ layout }: Workspace, group: string, id: string): boolean =>
  layout.store.getState().groups.some((other) => other.id !== group && other.tabs.some((tab) => tab.id === id));
