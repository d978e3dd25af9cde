import { createStore } from "zustand/vanilla";

export type PaletteMode = "files" | "commands" | "line" | "symbols";

export function createPalette() {
  const store = createStore<{ mode: PaletteMode | null }>(() => ({ mode: null }));
  return { store, open: (mode: PaletteMode) => store.setState({ mode }), close: () => store.setState({ mode: null }) };
}
