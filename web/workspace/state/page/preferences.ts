import { createStore } from "zustand/vanilla";
import { remember } from "../../browser/storage.ts";

export type Theme = "system" | "light" | "dark";

export interface PreferencesState {
  theme: Theme;
  autosave: boolean;
  wrapLines: boolean;
  // Terminals speak: what they show is also there for screen readers, at some cost in speed.
  spokenTerminals: boolean;
}

export type Preferences = ReturnType<typeof createPreferences>;

// What a person likes, the same in every workspace of this browser.
export function createPreferences() {
  const memory = remember<PreferencesState>("berth.preferences", {
    theme: "system",
    autosave: true,
    wrapLines: false,
    spokenTerminals: false,
  });
  const store = createStore<PreferencesState>(() => memory.value);
  store.subscribe(memory.save);
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const show = () => {
    const { theme } = store.getState();
    const dark = theme === "dark" || (theme === "system" && systemDark.matches);
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    for (const listener of listeners) listener();
  };
  const listeners = new Set<() => void>();
  systemDark.addEventListener("change", show);
  store.subscribe(show);
  show();
  return {
    store,
    set: store.setState,
    // For parts that draw outside of CSS and must hear of a change of colours.
    onThemeShown(listener: () => void): Disposable {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}
