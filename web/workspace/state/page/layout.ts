import { createStore } from "zustand/vanilla";
import { isCompactScreen, isNarrowScreen } from "../../browser/media-query.ts";
import { openStorage } from "../../browser/storage.ts";
import { isWithin, movedPath } from "../../text/paths.ts";
import * as editors from "../tabs/editor-groups.ts";
import { tabCommands } from "../tabs/tab-commands.ts";

export type SideView = "files" | "search" | "changes" | "problems" | "ports" | "programs";

export interface LayoutState extends editors.EditorGroups {
  // Whether this browser has opened this workspace before.
  visited: boolean;
  sideView: SideView;
  sideOpen: boolean;
  terminalsOpen: boolean;
  agentOpen: boolean;
  expanded: string[];
  // Ids of the terminals in each tab. Terminals in one group are shown side by side.
  terminalGroups: string[][];
  activeTerminal: string | null;
  terminalNames: Record<string, string>;
  // The unsent message to the agent.
  prompt: string;
  // The sizes in pixels that a person gave to panels side by side, by the ids of all of them.
  panelSizes: Record<string, Record<string, number>>;
}

export type Layout = ReturnType<typeof createLayout>;

const defaults: LayoutState = {
  ...editors.noEditors,
  visited: false,
  sideView: "files",
  sideOpen: true,
  terminalsOpen: true,
  agentOpen: false,
  expanded: [],
  terminalGroups: [],
  activeTerminal: null,
  terminalNames: {},
  prompt: "",
  panelSizes: {},
};

// The open tabs and panels and their arrangement. The browser stores them for each sandbox.
export function createLayout(sandboxId: string) {
  const stored = openStorage<LayoutState>(`berth.layout.${sandboxId}`, initialLayout());
  // The side panel would cover the editor of a compact screen.
  const store = createStore<LayoutState>(() => (isCompactScreen() ? { ...stored.value, sideOpen: false } : stored.value));
  store.subscribe(stored.save);
  const set = store.setState;

  const tabs = tabCommands(store);

  return {
    store,
    set,
    ...tabs,
    openPreviewBeside(port: number) {
      if (isNarrowScreen()) set({ sideOpen: false, agentOpen: false });
      tabs.openPreviewBeside(port);
    },
    renamePath(from: string, to: string) {
      set((state) => ({
        ...editors.renamePath(state, from, to),
        expanded: state.expanded.map((path) => (isWithin(path, from) ? movedPath(path, from, to) : path)),
      }));
    },
    // Shows a view of the side panel, or hides the panel if that view is on screen.
    toggleSideView(view: SideView) {
      set(({ sideView, sideOpen, agentOpen }) => {
        const covered = agentOpen && isNarrowScreen();
        return { sideView: view, sideOpen: covered || !(sideOpen && sideView === view), ...hideCovering("sideOpen") };
      });
    },
    showSideView: (view: SideView) => set({ sideView: view, ...hideCovering("sideOpen"), sideOpen: true }),
    show: (panel: Panel) => set({ ...hideCovering(panel), [panel]: true }),
    toggle: (panel: Panel) => set((state) => ({ ...hideCovering(panel), [panel]: !state[panel] })),
    // Expands every folder above a path, so that the path is visible in the tree.
    expandTo(path: string) {
      const parts = path.split("/").slice(0, -1);
      const folders = parts.map((_part, i) => parts.slice(0, i + 1).join("/"));
      set((state) => {
        const added = folders.filter((folder) => !state.expanded.includes(folder));
        return added.length === 0 ? state : { expanded: [...state.expanded, ...added] };
      });
    },
  };
}

type Panel = "sideOpen" | "terminalsOpen" | "agentOpen";

// A narrow screen shows one of agent, side panel and editor at a time, in this order: hide those that would cover the panel.
function hideCovering(panel: Panel): Partial<LayoutState> {
  if (!isNarrowScreen() || panel === "agentOpen") return {};
  return panel === "sideOpen" ? { agentOpen: false } : { agentOpen: false, sideOpen: false };
}

// A narrow screen starts with the editor alone.
function initialLayout(): LayoutState {
  return isNarrowScreen() ? { ...defaults, terminalsOpen: false } : defaults;
}
