import { createStore } from "zustand/vanilla";
import { openStorage } from "../../browser/storage.ts";

export type Theme = "system" | "light" | "dark";

export interface PreferencesState {
  theme: Theme;
  autosave: boolean;
  wrapLines: boolean;
  // Screen reader mode of terminals. It makes them slower.
  spokenTerminals: boolean;
  // Shows the last commit of the current line behind it.
  blame: boolean;
}

// Personal settings, shared by every workspace in this browser.
export function createPreferences() {
  const stored = openStorage<PreferencesState>("berth.preferences", {
    theme: "system",
    autosave: true,
    wrapLines: false,
    spokenTerminals: false,
    blame: false,
  });
  const store = createStore<PreferencesState>(() => stored.value);
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const listeners = new Set<() => void>();
  const apply = () => {
    const { theme } = store.getState();
    const dark = theme === "dark" || (theme === "system" && systemDark.matches);
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    for (const listener of listeners) listener();
  };
  systemDark.addEventListener("change", apply);
  store.subscribe(stored.save);
  store.subscribe(apply);
  apply();
  return {
    store,
    set: store.setState,
    // For components that do not take their colours from CSS. Called after the page has the new theme.
    onApplied(listener: () => void): Disposable {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}
