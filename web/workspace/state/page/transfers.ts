import { createStore } from "zustand/vanilla";

// Files that are being sent to the sandbox.
export interface Transfer {
  id: number;
  text: string;
  doneBytes: number;
  totalBytes: number;
  cancel: () => void;
}

export type Transfers = ReturnType<typeof createTransfers>;

export function createTransfers() {
  const store = createStore<{ list: Transfer[] }>(() => ({ list: [] }));
  let lastId = 0;
  return {
    store,
    // Shows the progress of some work until it ends. Cancelling aborts the signal.
    async run<T>(
      { text, totalBytes }: Pick<Transfer, "text" | "totalBytes">,
      work: (progress: { signal: AbortSignal; report: (doneBytes: number) => void }) => Promise<T>,
    ): Promise<T> {
      const id = ++lastId;
      const aborting = new AbortController();
      const started: Transfer = { id, text, totalBytes, doneBytes: 0, cancel: () => aborting.abort() };
      store.setState(({ list }) => ({ list: [...list, started] }));
      const report = (doneBytes: number) =>
        store.setState(({ list }) => ({ list: list.map((transfer) => (transfer.id === id ? { ...transfer, doneBytes } : transfer)) }));
      try {
        return await work({ signal: aborting.signal, report });
      } finally {
        store.setState(({ list }) => ({ list: list.filter((transfer) => transfer.id !== id) }));
      }
    },
  };
}
