import type { Tab } from "./tab.ts";

// A part of the editor area with tabs of its own.
export interface EditorGroup {
  id: string;
  tabs: Tab[];
  activeTab: string | null;
  // The tab of a file that was only looked at. The next such file replaces it.
  temporaryTab: string | null;
}

export const emptyGroup = (id: string): EditorGroup => ({ id, tabs: [], activeTab: null, temporaryTab: null });

export const activeTabIn = ({ tabs, activeTab }: EditorGroup): Tab | undefined => tabs.find(({ id }) => id === activeTab);

export const hasTab = ({ tabs }: EditorGroup, id: string): boolean => tabs.some((tab) => tab.id === id);

// Adds a tab at a place, or beside the active tab. A tab that is there already stays where it is.
export function addTab(group: EditorGroup, tab: Tab, index?: number): EditorGroup {
  const temporaryTab = group.temporaryTab === tab.id ? null : group.temporaryTab;
  if (hasTab(group, tab.id)) return { ...group, activeTab: tab.id, temporaryTab };
  const after = group.tabs.findIndex(({ id }) => id === group.activeTab);
  const at = index ?? (after < 0 ? group.tabs.length : after + 1);
  return { ...group, tabs: group.tabs.toSpliced(at, 0, tab), activeTab: tab.id, temporaryTab };
}

// Adds a tab that the next temporary tab replaces. A tab that exists already does not change.
export function addTemporaryTab(group: EditorGroup, tab: Tab): EditorGroup {
  if (hasTab(group, tab.id)) return { ...group, activeTab: tab.id };
  const replaced = group.tabs.findIndex(({ id }) => id === group.temporaryTab);
  const placed = replaced < 0 ? addTab(group, tab) : { ...group, tabs: group.tabs.with(replaced, tab), activeTab: tab.id };
  return { ...placed, temporaryTab: tab.id };
}

export function removeTab(group: EditorGroup, id: string): EditorGroup {
  const at = group.tabs.findIndex((tab) => tab.id === id);
  if (at < 0) return group;
  const tabs = group.tabs.toSpliced(at, 1);
  const neighbour = tabs[Math.min(at, tabs.length - 1)]?.id ?? null;
  return {
    ...group,
    tabs,
    activeTab: group.activeTab === id ? neighbour : group.activeTab,
    temporaryTab: group.temporaryTab === id ? null : group.temporaryTab,
  };
}

// The index counts the places between the tabs before the move.
export function reorderTab(group: EditorGroup, id: string, index: number): EditorGroup {
  const from = group.tabs.findIndex((tab) => tab.id === id);
  const tab = group.tabs[from];
  if (!tab) return group;
  const to = Math.max(0, index > from ? index - 1 : index);
  return { ...group, tabs: group.tabs.toSpliced(from, 1).toSpliced(to, 0, tab), activeTab: id };
}

export function cycleTab(group: EditorGroup, by: 1 | -1): EditorGroup {
  const { tabs, activeTab } = group;
  const at = tabs.findIndex(({ id }) => id === activeTab);
  return { ...group, activeTab: tabs[(at + by + tabs.length) % tabs.length]?.id ?? null };
}

// Replaces every tab, for example after a file was renamed. `change` keeps the number of tabs.
export function mapTabs(group: EditorGroup, change: (tab: Tab) => Tab): EditorGroup {
  const ids = new Map(group.tabs.map((tab) => [tab.id, change(tab).id]));
  const changed = (id: string | null) => (id === null ? null : (ids.get(id) ?? id));
  return {
    ...group,
    tabs: group.tabs.map(change),
    activeTab: changed(group.activeTab),
    temporaryTab: changed(group.temporaryTab),
  };
}
