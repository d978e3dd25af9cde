import { createStore } from "zustand/vanilla";

// A part of the page that can be requested to take the keyboard focus. Text editors and terminals have requests of their own.
export type FocusTarget = "side" | "tab" | "agent";

export function createFocusRequest() {
  const store = createStore<{ target: FocusTarget | null }>(() => ({ target: null }));
  return {
    store,
    set: (target: FocusTarget) => store.setState({ target }),
    clear: () => store.setState({ target: null }),
  };
}
