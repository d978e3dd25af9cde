import { isNarrowScreen } from "../../browser/media-query.ts";
import * as editors from "./editor-groups.ts";
import { previewTab, type Tab } from "./tab.ts";

interface EditorStore {
  getState(): editors.EditorGroups;
  setState(change: Partial<editors.EditorGroups> | ((state: editors.EditorGroups) => editors.EditorGroups)): void;
}

// The commands on tabs and editor groups. The decisions are in editor-groups.ts.
export function tabCommands(store: EditorStore) {
  const change = (decide: (state: editors.EditorGroups) => editors.EditorGroups) => store.setState(decide);
  const openTab = (tab: Tab) => change((state) => editors.openTab(state, tab));
  // A narrow screen has no room beside the editor.
  const openBeside = (tab: Tab) => change((state) => (isNarrowScreen() ? editors.openTab(state, tab) : editors.openBeside(state, tab)));

  // Shows a tab where it is open. Returns false if it is not.
  function revealTab(id: string): boolean {
    const shownIn = store.getState().groups.find(({ tabs }) => tabs.some((tab) => tab.id === id));
    if (shownIn) change((state) => editors.activateTab(state, shownIn.id, id));
    return shownIn !== undefined;
  }

  return {
    openTab,
    openBeside,
    openTemporaryTab: (tab: Tab) => change((state) => editors.openTemporaryTab(state, tab)),
    activateTab: (group: string, id: string) => change((state) => editors.activateTab(state, group, id)),
    cycleTab: (by: 1 | -1) => change((state) => editors.cycleTab(state, by)),
    // Moves the active tab by one place.
    shiftTab: (by: 1 | -1) => change((state) => editors.shiftTab(state, by)),
    moveTab: (from: { group: string; tab: string }, to: editors.DropPlace) => change((state) => editors.moveTab(state, from, to)),
    // Opens a tab at the place where it was dropped.
    placeTab: (tab: Tab, to: editors.DropPlace) => change((state) => editors.placeTab(state, tab, to)),
    keepTab: (id: string) => change((state) => editors.keepTab(state, id)),
    closeTab: (group: string, id: string) => change((state) => editors.closeTab(state, group, id)),
    // Closes a tab in every group, because it has nothing to show any more.
    dropTab: (id: string) => change((state) => editors.dropTab(state, id)),
    reopenTab: () => change(editors.reopenTab),
    // Shows the active tab a second time, in the group on the right.
    split() {
      const tab = editors.activeTabOf(store.getState());
      if (tab) openBeside(tab);
    },
    moveTabToNextGroup() {
      const { groups, activeGroup } = store.getState();
      const at = groups.findIndex(({ id }) => id === activeGroup);
      const tab = groups[at]?.activeTab;
      const next = groups[at + 1];
      if (tab)
        change((state) =>
          editors.moveTab(state, { group: activeGroup, tab }, next ? { group: next.id, at: "end" } : { group: activeGroup, at: "right" }),
        );
    },
    revealTab,
    // Shows a port beside the code. The code stays active. A preview that is open already stays where it is.
    openPreviewBeside(port: number) {
      const tab = previewTab(port);
      const { activeGroup } = store.getState();
      if (revealTab(tab.id)) return;
      openBeside(tab);
      if (!isNarrowScreen()) store.setState({ activeGroup });
    },
    focusGroup(id: string) {
      const { groups, activeGroup } = store.getState();
      if (activeGroup !== id && groups.some((group) => group.id === id)) store.setState({ activeGroup: id });
    },
  };
}
