import { createStore } from "zustand/vanilla";
import type { Terminal } from "@berth/contract/daemon.ts";
import type { Api } from "../../connection/api.ts";
import type { Notices } from "../page/notices.ts";
import type { Layout } from "../page/layout.ts";
import { arrangeGroups, placeBeside } from "./terminal-groups.ts";

export interface TerminalsState {
  // null until the daemon has told.
  list: Terminal[] | null;
  // The terminal that should have the keyboard, because the person has just asked for it.
  focus: string | null;
}

export type Terminals = ReturnType<typeof createTerminals>;

// Which terminals there are (the daemon's word) and how they stand on this screen (the layout's).
export function createTerminals({ api, layout, notices }: { api: Api; layout: Layout; notices: Notices }) {
  const store = createStore<TerminalsState>(() => ({ list: null, focus: null }));

  function heard(list: Terminal[]): void {
    store.setState({ list });
    layout.set(({ terminalGroups, activeTerminal }) => {
      const ids = list.map(({ id }) => id);
      const groups = arrangeGroups(terminalGroups, ids);
      return {
        terminalGroups: groups,
        activeTerminal: activeTerminal && ids.includes(activeTerminal) ? activeTerminal : (groups.at(-1)?.[0] ?? null),
      };
    });
  }

  function show(id: string): void {
    layout.set({ activeTerminal: id });
    store.setState({ focus: id });
  }

  async function open(besideId?: string): Promise<string | null> {
    let id: string | null = null;
    await notices.attempt("Could not open a terminal", async () => {
      const terminal = await api.createTerminal({ cols: 80, rows: 24 });
      const list = store.getState().list ?? [];
      heard(list.some(({ id }) => id === terminal.id) ? list : [...list, terminal]);
      // The daemon's own word about the new terminal may have come first, so it may already stand somewhere.
      layout.set(({ terminalGroups }) => ({
        terminalGroups: besideId === undefined ? terminalGroups : placeBeside(terminalGroups, terminal.id, besideId),
        activeTerminal: terminal.id,
        terminalsOpen: true,
      }));
      id = terminal.id;
    });
    return id;
  }

  async function create(besideId?: string): Promise<void> {
    const id = await open(besideId);
    if (id !== null) show(id);
  }

  return {
    store,
    heard,
    create,
    show,
    focused: () => store.setState({ focus: null }),
    // As create, but without taking the keyboard away from where it is.
    begin: () => open(),
    // Whoever opens the panel wants to type, so that an empty one gets a terminal.
    toggle() {
      layout.toggle("terminalsOpen");
      if (layout.store.getState().terminalsOpen && store.getState().list?.length === 0) void create();
    },
    split: () => create(layout.store.getState().activeTerminal ?? undefined),
    async close(id: string) {
      const list = store.getState().list ?? [];
      heard(list.filter((terminal) => terminal.id !== id));
      await notices.attempt("Could not close the terminal", () => api.removeTerminal(id));
    },
    rename: (id: string, name: string) => layout.set(({ terminalNames }) => ({ terminalNames: { ...terminalNames, [id]: name.trim() } })),
    exited(id: string, exit: Terminal["exit"]) {
      store.setState(({ list }) => ({ list: list?.map((terminal) => (terminal.id === id ? { ...terminal, exit } : terminal)) ?? null }));
    },
  };
}
