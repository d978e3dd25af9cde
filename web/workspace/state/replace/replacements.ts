import { createStore } from "zustand/vanilla";
import type { FileReplacement } from "./replace-in-files.ts";

// The last replacement in files, so that it can be undone.
export function createReplacements() {
  const store = createStore<{ changes: readonly FileReplacement[] }>(() => ({ changes: [] }));
  return {
    store,
    remember: (changes: readonly FileReplacement[]) => store.setState({ changes }),
    // Returns the last replacement and forgets it.
    take(): readonly FileReplacement[] {
      const { changes } = store.getState();
      store.setState({ changes: [] });
      return changes;
    },
  };
}
