import { createStore } from "zustand/vanilla";
import { isNarrowScreen } from "../../browser/media-query.ts";
import { openStorage } from "../../browser/storage.ts";
import { isWithin, movedPath } from "../../text/paths.ts";

export type SideView = "files" | "search" | "changes" | "ports";

export type Tab =
  | { id: string; kind: "file"; path: string }
  // The original file compared with the current one.
  | { id: string; kind: "diff"; path: string }
  // The text in the editor compared with the file on disk.
  | { id: string; kind: "compare"; path: string }
  | { id: string; kind: "markdown"; path: string }
  | { id: string; kind: "preview"; port: number };

export interface LayoutState {
  // Whether this browser has opened this workspace before.
  visited: boolean;
  tabs: Tab[];
  activeTab: string | null;
  // The tab of a file that was only looked at. The next such file replaces it.
  temporaryTab: string | null;
  sideView: SideView;
  sideOpen: boolean;
  terminalsOpen: boolean;
  agentOpen: boolean;
  expanded: string[];
  // Ids of the terminals in each tab. Terminals in one group are shown side by side.
  terminalGroups: string[][];
  activeTerminal: string | null;
  terminalNames: Record<string, string>;
  // The port whose preview is shown beside the editor.
  besidePort: number | null;
  // The unsent message to the agent.
  prompt: string;
  // Panel sizes of each resizable group, by group id.
  sizes: Record<string, Record<string, number>>;
}

export type Layout = ReturnType<typeof createLayout>;

const defaults: LayoutState = {
  visited: false,
  tabs: [],
  activeTab: null,
  temporaryTab: null,
  sideView: "files",
  sideOpen: true,
  terminalsOpen: true,
  agentOpen: false,
  expanded: [],
  terminalGroups: [],
  activeTerminal: null,
  terminalNames: {},
  besidePort: null,
  prompt: "",
  sizes: {},
};

export const fileTab = (path: string): Tab => ({ id: `file:${path}`, kind: "file", path });
export const tabFor = (kind: "diff" | "compare" | "markdown", path: string): Tab => ({ id: `${kind}:${path}`, kind, path });
export const previewTab = (port: number): Tab => ({ id: `preview:${port}`, kind: "preview", port });

// The open tabs and panels and their arrangement. The browser stores them for each sandbox.
export function createLayout(sandboxId: string) {
  const stored = openStorage<LayoutState>(`berth.layout.${sandboxId}`, initialLayout());
  const store = createStore<LayoutState>(() => stored.value);
  store.subscribe(stored.save);
  const set = store.setState;

  function openTab(tab: Tab): void {
    set((state) => ({ ...insertTab(state, tab), temporaryTab: otherThan(tab.id, state.temporaryTab) }));
  }

  return {
    store,
    set,
    openTab,
    // Opens a tab that the next temporary tab replaces. A tab that is open already stays what it is.
    openTemporaryTab(tab: Tab) {
      set((state) => {
        if (state.tabs.some(({ id }) => id === tab.id)) return { activeTab: tab.id };
        const replaced = state.tabs.findIndex(({ id }) => id === state.temporaryTab);
        const placed = replaced < 0 ? insertTab(state, tab) : { tabs: state.tabs.with(replaced, tab), activeTab: tab.id };
        return { ...placed, temporaryTab: tab.id };
      });
    },
    // A narrow screen has no room beside the editor, so it gets a tab.
    openPreviewBeside(port: number) {
      if (!isNarrowScreen()) return set({ besidePort: port });
      set({ sideOpen: false, agentOpen: false });
      openTab(previewTab(port));
    },
    keepTab: (id: string) => set(({ temporaryTab }) => ({ temporaryTab: otherThan(id, temporaryTab) })),
    closeTab(id: string) {
      set(({ tabs, activeTab, temporaryTab }) => {
        const at = tabs.findIndex((tab) => tab.id === id);
        const left = tabs.filter((tab) => tab.id !== id);
        const neighbour = left[Math.min(at, left.length - 1)]?.id ?? null;
        return { tabs: left, activeTab: activeTab === id ? neighbour : activeTab, temporaryTab: otherThan(id, temporaryTab) };
      });
    },
    cycleTab(by: 1 | -1) {
      set(({ tabs, activeTab }) => {
        const at = tabs.findIndex(({ id }) => id === activeTab);
        return { activeTab: tabs[(at + by + tabs.length) % tabs.length]?.id ?? null };
      });
    },
    renamePath(from: string, to: string) {
      const renamed = (tab: Tab): Tab => {
        if (!("path" in tab) || !isWithin(tab.path, from)) return tab;
        const path = movedPath(tab.path, from, to);
        return { ...tab, path, id: `${tab.kind}:${path}` };
      };
      set(({ tabs, activeTab, temporaryTab, expanded }) => {
        const ids = new Map(tabs.map((tab) => [tab.id, renamed(tab).id]));
        const renamedId = (id: string | null) => (id === null ? null : (ids.get(id) ?? id));
        return {
          tabs: tabs.map(renamed),
          activeTab: renamedId(activeTab),
          temporaryTab: renamedId(temporaryTab),
          expanded: expanded.map((path) => (isWithin(path, from) ? movedPath(path, from, to) : path)),
        };
      });
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

// A new tab opens beside the active one.
function insertTab({ tabs, activeTab }: LayoutState, tab: Tab): Pick<LayoutState, "tabs" | "activeTab"> {
  if (tabs.some(({ id }) => id === tab.id)) return { tabs, activeTab: tab.id };
  const after = tabs.findIndex(({ id }) => id === activeTab);
  return { tabs: tabs.toSpliced(after < 0 ? tabs.length : after + 1, 0, tab), activeTab: tab.id };
}

const otherThan = (id: string, value: string | null) => (value === id ? null : value);

// The path of the file that the active tab shows as text or image.
export function activeFile({ tabs, activeTab }: LayoutState): string | null {
  const tab = tabs.find(({ id }) => id === activeTab);
  return tab?.kind === "file" ? tab.path : null;
}

type Panel = "sideOpen" | "terminalsOpen" | "agentOpen";

// A narrow screen shows one of agent, side panel and editor at a time, in this order: hide those that would cover the panel.
function hideCovering(panel: Panel): Partial<LayoutState> {
  if (!isNarrowScreen() || panel === "agentOpen") return {};
  return panel === "sideOpen" ? { agentOpen: false } : { agentOpen: false, sideOpen: false };
}

// A narrow screen starts with the editor alone.
function initialLayout(): LayoutState {
  return isNarrowScreen() ? { ...defaults, sideOpen: false, terminalsOpen: false } : defaults;
}
