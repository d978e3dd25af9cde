import { createStore } from "zustand/vanilla";

export interface DraggedTab {
  group: string;
  tab: string;
}

// The tab that is being dragged. Browsers hide the data of a drag until it is dropped, so the page keeps it.
export function createTabDrag() {
  const store = createStore<{ dragged: DraggedTab | null }>(() => ({ dragged: null }));
  return {
    store,
    start: (dragged: DraggedTab) => store.setState({ dragged }),
    end: () => store.setState({ dragged: null }),
  };
}
