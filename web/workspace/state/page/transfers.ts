import { createStore } from "zustand/vanilla";

// Files on their way to or from the sandbox.
export interface Transfer {
  id: number;
  kind: "upload" | "download";
  text: string;
  doneBytes: number;
  // Null if it is not known, as for a folder that is packed while it is sent.
  totalBytes: number | null;
  cancel: () => void;
}

export interface TransferProgress {
  signal: AbortSignal;
  report: (doneBytes: number) => void;
  // Tells the total as soon as it is known.
  expect: (totalBytes: number) => void;
}

// The page shows progress only so often, because a download has thousands of parts.
const SHOW_EVERY_MS = 100;

export function createTransfers() {
  const store = createStore<{ list: Transfer[] }>(() => ({ list: [] }));
  let lastId = 0;
  return {
    store,
    // Shows the progress of some work until it ends. Cancelling aborts the signal.
    async run<T>(
      { kind, text, totalBytes }: Pick<Transfer, "kind" | "text" | "totalBytes">,
      work: (progress: TransferProgress) => Promise<T>,
    ): Promise<T> {
      const id = ++lastId;
      const aborting = new AbortController();
      const started: Transfer = { id, kind, text, totalBytes, doneBytes: 0, cancel: () => aborting.abort() };
      store.setState(({ list }) => ({ list: [...list, started] }));
      const change = (changed: Partial<Transfer>) =>
        store.setState(({ list }) => ({ list: list.map((transfer) => (transfer.id === id ? { ...transfer, ...changed } : transfer)) }));
      let shownAtMs = -Infinity;
      const report = (doneBytes: number) => {
        if (performance.now() - shownAtMs < SHOW_EVERY_MS) return;
        shownAtMs = performance.now();
        change({ doneBytes });
      };
      try {
        return await work({ signal: aborting.signal, report, expect: (total) => change({ totalBytes: total }) });
      } finally {
        store.setState(({ list }) => ({ list: list.filter((transfer) => transfer.id !== id) }));
      }
    },
  };
}
