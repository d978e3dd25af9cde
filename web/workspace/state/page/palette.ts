import { createStore } from "zustand/vanilla";

export type PaletteMode = "files" | "commands" | "line" | "symbols";

// Keys that were pressed before the palette was there.
export interface EarlyKeys {
  text: string;
  entered: boolean;
}

export function createPalette() {
  const store = createStore<{ mode: PaletteMode | null }>(() => ({ mode: null }));
  let early: EarlyKeys = { text: "", entered: false };
  return {
    store,
    open(mode: PaletteMode) {
      early = { text: "", entered: false };
      store.setState({ mode });
    },
    close: () => store.setState({ mode: null }),
    keep(key: string) {
      if (key === "Enter") early = { ...early, entered: true };
      else if (key === "Backspace") early = { text: early.text.slice(0, -1), entered: false };
      else if (key.length === 1) early = { text: early.text + key, entered: false };
    },
    early: (): EarlyKeys => early,
  };
}
