import { createStore } from "zustand/vanilla";
import type { CreateTerminal, Terminal } from "@berth/contract/daemon.ts";
import { ApiError, type Api } from "../../connection/api.ts";
import type { Notices } from "../page/notices.ts";
import type { Layout } from "../page/layout.ts";
import { arrangeGroups, placeBeside } from "./terminal-groups.ts";

export interface TerminalsState {
  // Null until the daemon reports them.
  list: Terminal[] | null;
  // The terminal that is requested to take the keyboard focus.
  focusId: string | null;
  // A request to the active terminal.
  requested: "find" | "clear" | null;
}

// Terminals exist in the daemon; the layout holds their arrangement on this screen.
export function createTerminals({ api, layout, notices }: { api: Api; layout: Layout; notices: Notices }) {
  const store = createStore<TerminalsState>(() => ({ list: null, focusId: null, requested: null }));

  // A list that the daemon sent before it handled a DELETE still contains the terminal. Ids are never reused.
  const closedIds = new Set<string>();

  function update(reported: Terminal[]): void {
    const list = reported.filter(({ id }) => !closedIds.has(id));
    store.setState({ list });
    layout.set(({ terminalGroups, activeTerminal }) => {
      const ids = list.map(({ id }) => id);
      const groups = arrangeGroups(terminalGroups, ids);
      const neighbours = terminalGroups.find((group) => activeTerminal !== null && group.includes(activeTerminal)) ?? [];
      const candidates = [activeTerminal, ...neighbours, groups.at(-1)?.[0]];
      return { terminalGroups: groups, activeTerminal: candidates.find((id) => id != null && ids.includes(id)) ?? null };
    });
  }

  function show(id: string): void {
    layout.set({ activeTerminal: id });
    store.setState({ focusId: id });
  }

  async function createUnfocused(besideId?: string, program: Pick<CreateTerminal, "command" | "title"> = {}): Promise<string | null> {
    let createdId: string | null = null;
    await notices.attempt("Could not open a terminal", async () => {
      const terminal = await api.createTerminal({ cols: 80, rows: 24, ...program });
      const list = store.getState().list ?? [];
      update(list.some((known) => known.id === terminal.id) ? list : [...list, terminal]);
      // The daemon's event about the new terminal may arrive first, so it may already be in a group.
      layout.set(({ terminalGroups }) => ({
        terminalGroups: besideId === undefined ? terminalGroups : placeBeside(terminalGroups, terminal.id, besideId),
        activeTerminal: terminal.id,
        terminalsOpen: true,
      }));
      createdId = terminal.id;
    });
    return createdId;
  }

  async function create(besideId?: string): Promise<void> {
    const id = await createUnfocused(besideId);
    if (id !== null) show(id);
  }

  async function closeTerminal(id: string): Promise<void> {
    const before = store.getState().list ?? [];
    closedIds.add(id);
    update(before);
    if (await notices.attempt("Could not close the terminal", () => removeUnlessGone(id))) return;
    closedIds.delete(id);
    const now = store.getState().list ?? [];
    update([...now, ...before.filter((terminal) => terminal.id === id)]);
  }

  // Another browser may have closed it at the same time.
  async function removeUnlessGone(id: string): Promise<void> {
    await api.removeTerminal(id).catch((error: unknown) => {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    });
  }

  return {
    store,
    update,
    create,
    show,
    // Runs a program in a terminal of its own.
    async run(command: string[], title: string) {
      const id = await createUnfocused(undefined, { command, title });
      if (id !== null) show(id);
    },
    request: (requested: TerminalsState["requested"]) => store.setState({ requested }),
    focused: () => store.setState({ focusId: null }),
    // Like `create`, but leaves the keyboard focus where it is.
    createUnfocused: () => createUnfocused(),
    // Shows the panel with the focus in it. A person who opens an empty panel wants to type, so it gets a terminal.
    open() {
      layout.show("terminalsOpen");
      const { activeTerminal } = layout.store.getState();
      if (store.getState().list?.length === 0) void create();
      else if (activeTerminal !== null) show(activeTerminal);
    },
    split: () => create(layout.store.getState().activeTerminal ?? undefined),
    close: closeTerminal,
    // Closes one of several terminals side by side, and gives the focus to the next one.
    closePane(id: string) {
      void closeTerminal(id);
      const { activeTerminal } = layout.store.getState();
      if (activeTerminal !== null) show(activeTerminal);
    },
    rename: (id: string, name: string) => layout.set(({ terminalNames }) => ({ terminalNames: { ...terminalNames, [id]: name.trim() } })),
    exited(id: string, exit: Terminal["exit"]) {
      store.setState(({ list }) => ({ list: list?.map((terminal) => (terminal.id === id ? { ...terminal, exit } : terminal)) ?? null }));
    },
  };
}
