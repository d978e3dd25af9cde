import { createStore } from "zustand/vanilla";

export type PaletteMode = "files" | "commands" | "line" | "symbols";

export function createPalette() {
  const store = createStore<{ mode: PaletteMode | null }>(() => ({ mode: null }));
  // The keys that were typed before the palette was there. Enter is a line break.
  let early = "";
  return {
    store,
    open(mode: PaletteMode) {
      early = "";
      store.setState({ mode });
    },
    close: () => store.setState({ mode: null }),
    keep: (key: string) => void (early += key === "Enter" ? "\n" : key[1] ? "" : key),
    early: () => early,
  };
}
