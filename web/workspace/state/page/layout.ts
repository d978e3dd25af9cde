import { createStore } from "zustand/vanilla";
import { movedPath, isWithin } from "../../text/paths.ts";
import { remember } from "../../browser/storage.ts";

export type SideView = "files" | "search" | "changes" | "ports";

export type Tab =
  | { id: string; kind: "file"; path: string }
  // The file as it was against the file as it is.
  | { id: string; kind: "diff"; path: string }
  // Mine in the editor against theirs on disk.
  | { id: string; kind: "compare"; path: string }
  | { id: string; kind: "markdown"; path: string }
  | { id: string; kind: "preview"; port: number };

export interface LayoutState {
  // This browser has shown this workspace before.
  visited: boolean;
  tabs: Tab[];
  activeTab: string | null;
  sideView: SideView;
  sideOpen: boolean;
  terminalsOpen: boolean;
  agentOpen: boolean;
  expanded: string[];
  // Terminals that stand side by side, by id.
  terminalGroups: string[][];
  activeTerminal: string | null;
  terminalNames: Record<string, string>;
  // What is being written to the agent.
  prompt: string;
  // Sizes of the resizable groups, by the group's id.
  sizes: Record<string, Record<string, number>>;
}

export type Layout = ReturnType<typeof createLayout>;

const defaults: LayoutState = {
  visited: false,
  tabs: [],
  activeTab: null,
  sideView: "files",
  sideOpen: true,
  terminalsOpen: true,
  agentOpen: false,
  expanded: [],
  terminalGroups: [],
  activeTerminal: null,
  terminalNames: {},
  prompt: "",
  sizes: {},
};

export const fileTab = (path: string): Tab => ({ id: `file:${path}`, kind: "file", path });
export const tabFor = (kind: "diff" | "compare" | "markdown", path: string): Tab => ({ id: `${kind}:${path}`, kind, path });
export const previewTab = (port: number): Tab => ({ id: `preview:${port}`, kind: "preview", port });

// What is open and where, remembered in the browser for each sandbox.
export function createLayout(sandboxId: string) {
  const memory = remember<LayoutState>(`berth.layout.${sandboxId}`, narrowDefaults());
  const store = createStore<LayoutState>(() => memory.value);
  store.subscribe(memory.save);
  const set = store.setState;

  return {
    store,
    set,
    openTab(tab: Tab) {
      set(({ tabs, activeTab }) => {
        if (tabs.some(({ id }) => id === tab.id)) return { activeTab: tab.id };
        const after = tabs.findIndex(({ id }) => id === activeTab);
        return { tabs: tabs.toSpliced(after < 0 ? tabs.length : after + 1, 0, tab), activeTab: tab.id };
      });
    },
    closeTab(id: string) {
      set(({ tabs, activeTab }) => {
        const at = tabs.findIndex((tab) => tab.id === id);
        const left = tabs.filter((tab) => tab.id !== id);
        const neighbour = left[Math.min(at, left.length - 1)]?.id ?? null;
        return { tabs: left, activeTab: activeTab === id ? neighbour : activeTab };
      });
    },
    stepTab(by: 1 | -1) {
      set(({ tabs, activeTab }) => {
        const at = tabs.findIndex(({ id }) => id === activeTab);
        return { activeTab: tabs[(at + by + tabs.length) % tabs.length]?.id ?? null };
      });
    },
    movedPath(from: string, to: string) {
      const moved = (tab: Tab): Tab => {
        if (!("path" in tab) || !isWithin(tab.path, from)) return tab;
        const path = movedPath(tab.path, from, to);
        return { ...tab, path, id: `${tab.kind}:${path}` };
      };
      set(({ tabs, activeTab, expanded }) => ({
        tabs: tabs.map(moved),
        activeTab: tabs.map((tab) => [tab.id, moved(tab).id]).find(([id]) => id === activeTab)?.[1] ?? activeTab,
        expanded: expanded.map((path) => (isWithin(path, from) ? movedPath(path, from, to) : path)),
      }));
    },
    showSide(view: SideView) {
      set(({ sideView, sideOpen, agentOpen }) => {
        const hidden = agentOpen && isNarrow();
        return { sideView: view, sideOpen: hidden || !(sideOpen && sideView === view), ...alone("sideOpen") };
      });
    },
    revealSide: (view: SideView) => set({ sideView: view, ...alone("sideOpen"), sideOpen: true }),
    toggle: (part: Part) => set((state) => ({ ...alone(part), [part]: !state[part] })),
    // Opens every folder above a path, so that it is seen in the tree.
    expandTo(path: string) {
      const parts = path.split("/").slice(0, -1);
      const above = parts.map((_part, i) => parts.slice(0, i + 1).join("/"));
      set(({ expanded }) => ({ expanded: [...new Set([...expanded, ...above])] }));
    },
  };
}

type Part = "sideOpen" | "terminalsOpen" | "agentOpen";

const isNarrow = (): boolean => matchMedia("(max-width: 720px)").matches;

// On a narrow screen side panel, agent and editor take turns: what is asked for closes what would cover it.
function alone(part: Part): Partial<LayoutState> {
  if (!isNarrow()) return {};
  return part === "agentOpen" ? {} : part === "sideOpen" ? { agentOpen: false } : { agentOpen: false, sideOpen: false };
}

// A narrow screen begins with the editor alone; the rest is one touch away.
function narrowDefaults(): LayoutState {
  return isNarrow() ? { ...defaults, sideOpen: false, terminalsOpen: false } : defaults;
}
