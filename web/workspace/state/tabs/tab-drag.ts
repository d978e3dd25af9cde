import { createStore } from "zustand/vanilla";

// A tab, or files of the tree.
export type Dragged = { kind: "tab"; group: string; tab: string } | { kind: "files"; paths: string[] };

// The dragged tab or files, which can be dropped on the editor. Browsers hide the data of a drag until it is dropped, so the page
// keeps it.
export function createTabDrag() {
  const store = createStore<{ dragged: Dragged | null }>(() => ({ dragged: null }));
  let starting: ReturnType<typeof setTimeout>;
  return {
    store,
    // A change of the page during the event that starts a drag would end the drag in Chromium.
    start(dragged: Dragged) {
      starting = setTimeout(() => store.setState({ dragged }));
    },
    end() {
      clearTimeout(starting);
      store.setState({ dragged: null });
    },
  };
}
