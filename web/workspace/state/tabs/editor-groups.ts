import { isWithin, movedPath } from "../../text/paths.ts";
import {
  activeTabIn,
  addTab,
  addTemporaryTab,
  cycleTab as cycleTabIn,
  emptyGroup,
  hasTab,
  mapTabs,
  removeTab,
  reorderTab,
  type EditorGroup,
} from "./editor-group.ts";
import { showsResult, type Tab } from "./tab.ts";

// The editor area: a row of one to three groups. Only a single group may be empty.
export interface EditorGroups {
  groups: EditorGroup[];
  // The group that has, or last had, the keyboard focus.
  activeGroup: string;
  // The last closed tabs, the most recent at the end.
  closedTabs: { tab: Tab; group: string }[];
  // The last opened files, the most recent first.
  recentFiles: string[];
}

// Where a tab is dropped: at an index among the tabs of a group, at their end, or in a new group on one side of the group.
export type DropPlace = { group: string; at: number | "end" | "left" | "right" };

export const MAX_GROUPS = 3;
const MAX_REMEMBERED = 20;

export const noEditors: EditorGroups = { groups: [emptyGroup("1")], activeGroup: "1", closedTabs: [], recentFiles: [] };

export const activeGroupOf = (state: EditorGroups): EditorGroup =>
  state.groups.find(({ id }) => id === state.activeGroup) ?? state.groups[0] ?? emptyGroup("1");
export const activeTabOf = (state: EditorGroups): Tab | undefined => activeTabIn(activeGroupOf(state));
export const openTabs = ({ groups }: EditorGroups): Tab[] => groups.flatMap(({ tabs }) => tabs);
// The files that a tab shows.
export const openPaths = (state: EditorGroups): Set<string> => new Set(openTabs(state).flatMap((tab) => ("path" in tab ? [tab.path] : [])));

// The path of the file that the active tab shows as text or image.
export function activeFile(state: EditorGroups): string | null {
  const tab = activeTabOf(state);
  return tab?.kind === "file" ? tab.path : null;
}

// Opens a tab in the active group. Code does not cover the result that it is worked on beside.
export const openTab = (state: EditorGroups, tab: Tab): EditorGroups =>
  remember(
    changeGroup(state, groupFor(state, tab), (group) => addTab(group, tab)),
    tab,
  );

export const openTemporaryTab = (state: EditorGroups, tab: Tab): EditorGroups =>
  remember(
    changeGroup(state, groupFor(state, tab), (group) => addTemporaryTab(group, tab)),
    tab,
  );

// Opens a tab in the next group on the right, which is created if it does not exist and there is room.
export function openBeside(state: EditorGroups, tab: Tab): EditorGroups {
  const { groups } = state;
  const active = activeGroupOf(state);
  if (active.tabs.length === 0) return openTab(state, tab);
  const next = groups[groups.indexOf(active) + 1] ?? (groups.length < MAX_GROUPS ? null : groups.at(-2));
  if (next)
    return remember(
      changeGroup(state, next.id, (group) => addTab(group, tab)),
      tab,
    );
  return remember(insertGroup(state, addTab(emptyGroup(freeId(groups)), tab), groups.indexOf(active) + 1), tab);
}

export function activateTab(state: EditorGroups, group: string, id: string): EditorGroups {
  const tab = state.groups.find((each) => each.id === group)?.tabs.find((each) => each.id === id);
  const activated = changeGroup(state, group, (found) => (hasTab(found, id) ? { ...found, activeTab: id } : found));
  return tab ? remember(activated, tab) : activated;
}

export const cycleTab = (state: EditorGroups, by: 1 | -1): EditorGroups =>
  changeGroup(state, activeGroupOf(state).id, (group) => cycleTabIn(group, by));

// Moves the active tab by one place within its group.
export function shiftTab(state: EditorGroups, by: 1 | -1): EditorGroups {
  const { id, tabs, activeTab } = activeGroupOf(state);
  const at = tabs.findIndex((tab) => tab.id === activeTab);
  if (activeTab === null || at + by < 0 || at + by >= tabs.length) return state;
  return changeGroup(state, id, (group) => reorderTab(group, activeTab, by > 0 ? at + 2 : at - 1));
}

export function moveTab(state: EditorGroups, from: { group: string; tab: string }, { group: to, at }: DropPlace): EditorGroups {
  const source = state.groups.find(({ id }) => id === from.group);
  const tab = source?.tabs.find(({ id }) => id === from.tab);
  if (!source || !tab) return state;
  if (at === "left" || at === "right") {
    if (to === source.id && source.tabs.length === 1) return state;
    const side = state.groups.findIndex(({ id }) => id === to) + (at === "right" ? 1 : 0);
    if (state.groups.length >= MAX_GROUPS && source.tabs.length > 1) return state;
    const added = insertGroup(state, addTab(emptyGroup(freeId(state.groups)), tab), side);
    return withoutEmptyGroups(editGroup(added, source.id, (group) => removeTab(group, tab.id)));
  }
  const index = (group: EditorGroup) => (at === "end" ? group.tabs.length : at);
  if (to === source.id) return changeGroup(state, to, (group) => reorderTab(group, tab.id, index(group)));
  const moved = changeGroup(state, to, (group) => addTab(group, tab, index(group)));
  return withoutEmptyGroups(editGroup(moved, source.id, (group) => removeTab(group, tab.id)));
}

export function placeTab(state: EditorGroups, tab: Tab, { group: to, at }: DropPlace): EditorGroups {
  if (typeof at === "number" || at === "end") {
    const index = typeof at === "number" ? at : undefined;
    return remember(
      changeGroup(state, to, (group) => addTab(group, tab, index)),
      tab,
    );
  }
  if (state.groups.length >= MAX_GROUPS) return state;
  const side = state.groups.findIndex(({ id }) => id === to) + (at === "right" ? 1 : 0);
  return remember(insertGroup(state, addTab(emptyGroup(freeId(state.groups)), tab), side), tab);
}

export function closeTab(state: EditorGroups, groupId: string, id: string): EditorGroups {
  const tab = state.groups.find((group) => group.id === groupId)?.tabs.find((each) => each.id === id);
  if (!tab) return state;
  const closedTabs = [...state.closedTabs, { tab, group: groupId }].slice(-MAX_REMEMBERED);
  return withoutEmptyGroups({ ...editGroup(state, groupId, (group) => removeTab(group, id)), closedTabs });
}

// Closes a tab in every group, because it has nothing to show any more.
export const dropTab = (state: EditorGroups, id: string): EditorGroups =>
  withoutEmptyGroups({ ...state, groups: state.groups.map((group) => removeTab(group, id)) });

export function reopenTab(state: EditorGroups): EditorGroups {
  const last = state.closedTabs.at(-1);
  if (!last) return state;
  const group = state.groups.some(({ id }) => id === last.group) ? last.group : activeGroupOf(state).id;
  const closedTabs = state.closedTabs.slice(0, -1);
  return remember(
    changeGroup({ ...state, closedTabs }, group, (found) => addTab(found, last.tab)),
    last.tab,
  );
}

// A tab stays when its file is edited, in every group.
export const keepTab = (state: EditorGroups, id: string): EditorGroups => ({
  ...state,
  groups: state.groups.map((group) => (group.temporaryTab === id ? { ...group, temporaryTab: null } : group)),
});

export function renamePath(state: EditorGroups, from: string, to: string): EditorGroups {
  const moved = (path: string) => (isWithin(path, from) ? movedPath(path, from, to) : path);
  const renamed = (tab: Tab): Tab => ("path" in tab ? { ...tab, path: moved(tab.path), id: `${tab.kind}:${moved(tab.path)}` } : tab);
  return {
    ...state,
    groups: state.groups.map((group) => mapTabs(group, renamed)),
    closedTabs: state.closedTabs.map(({ tab, group }) => ({ tab: renamed(tab), group })),
    recentFiles: state.recentFiles.map(moved),
  };
}

function groupFor(state: EditorGroups, tab: Tab): string {
  const { groups } = state;
  const active = activeGroupOf(state);
  const isTaken = (group: EditorGroup) => {
    const shown = activeTabIn(group);
    return shown !== undefined && showsResult(shown);
  };
  if (showsResult(tab) || hasTab(active, tab.id) || !isTaken(active)) return active.id;
  const before = groups.slice(0, groups.indexOf(active)).toReversed();
  return [...before, ...groups].find((group) => !isTaken(group))?.id ?? active.id;
}

const editGroup = (state: EditorGroups, id: string, change: (group: EditorGroup) => EditorGroup): EditorGroups => ({
  ...state,
  groups: state.groups.map((group) => (group.id === id ? change(group) : group)),
});

const changeGroup = (state: EditorGroups, id: string, change: (group: EditorGroup) => EditorGroup): EditorGroups => ({
  ...editGroup(state, id, change),
  activeGroup: id,
});

const insertGroup = (state: EditorGroups, group: EditorGroup, at: number): EditorGroups => ({
  ...state,
  groups: state.groups.toSpliced(at, 0, group),
  activeGroup: group.id,
});

// The stored sizes of the groups belong to their ids, so the ids are used again.
function freeId(groups: EditorGroup[]): string {
  let id = 1;
  while (groups.some((group) => group.id === String(id))) id++;
  return String(id);
}

function withoutEmptyGroups(state: EditorGroups): EditorGroups {
  const left = state.groups.filter(({ tabs }) => tabs.length > 0);
  if (left.length === state.groups.length) return state;
  const groups = left.length > 0 ? left : [activeGroupOf(state)];
  if (groups.some(({ id }) => id === state.activeGroup)) return { ...state, groups };
  const at = state.groups.findIndex(({ id }) => id === state.activeGroup);
  const neighbour = groups[Math.min(Math.max(0, at - 1), groups.length - 1)];
  return { ...state, groups, activeGroup: neighbour?.id ?? state.activeGroup };
}

function remember(state: EditorGroups, tab: Tab): EditorGroups {
  if (tab.kind !== "file") return state;
  const others = state.recentFiles.filter((path) => path !== tab.path);
  return { ...state, recentFiles: [tab.path, ...others].slice(0, MAX_REMEMBERED) };
}
