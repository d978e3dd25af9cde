import { createStore } from "zustand/vanilla";
import type { FileReplacement } from "./replace-in-files.ts";

interface Replacement {
  changes: readonly FileReplacement[];
  // The notice that offers to undo it.
  notice: number | null;
}

// The last replacement in files, so that it can be undone.
export function createReplacements() {
  const nothing: Replacement = { changes: [], notice: null };
  const store = createStore<Replacement>(() => nothing);
  return {
    store,
    remember: (replacement: Replacement) => store.setState(replacement),
    // Returns the last replacement and forgets it.
    take(): Replacement {
      const last = store.getState();
      store.setState(nothing);
      return last;
    },
  };
}
