import { createStore } from "zustand/vanilla";
import { openStorage } from "../../browser/storage.ts";
import { SETTINGS, type SettingName, type SettingsState } from "../settings/schema.ts";
import { changeValues, defaultOf, readSettings, type SettingsValues } from "../settings/values.ts";

export type Theme = SettingsState["theme"];
export type PreferencesState = SettingsState;

// Personal settings. This browser stores them for each user: `user` is a name for the user, not shown to anyone.
export function createPreferences(user: string) {
  const stored = openStorage<{ values: SettingsValues }>(`berth.settings.${user}`, { values: {} });
  let values: SettingsValues = isObject(stored.value.values) ? stored.value.values : {};
  // Defaults from the repository, for people who have not chosen. They are not stored.
  let repository: SettingsValues = {};
  const store = createStore<PreferencesState>(() => readSettings(values));
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const listeners = new Set<() => void>();
  let onChange: (keys: string[]) => void = () => {};
  // The theme of the partner's page around this one. It is not a setting of the person, so it is not stored.
  let pageTheme: Theme | null = null;

  const apply = () => {
    const { theme: ownTheme, fontFamily, fontSize } = store.getState();
    const theme = pageTheme ?? ownTheme;
    const { dataset, style } = document.documentElement;
    const dark = theme === "dark" || (theme === "system" && systemDark.matches);
    dataset["theme"] = dark ? "dark" : "light";
    style.setProperty("--editor-font", withFallback(fontFamily));
    style.setProperty("--editor-size", `${fontSize}px`);
    for (const listener of listeners) listener();
  };
  systemDark.addEventListener("change", apply);
  store.subscribe(apply);
  apply();

  function showPageTheme(theme: Theme | null): void {
    pageTheme = theme;
    apply();
  }

  function show(next: SettingsValues): void {
    values = next;
    stored.save({ values });
    store.setState(readSettings(values, repository));
  }

  function showRepository(next: SettingsValues = {}): void {
    if (JSON.stringify(next) === JSON.stringify(repository)) return;
    repository = next;
    store.setState(readSettings(values, repository));
  }

  function replace(next: SettingsValues): void {
    const keys = [...new Set([...Object.keys(values), ...Object.keys(next)])].filter((key) => values[key] !== next[key]);
    if (keys.length === 0) return;
    show(next);
    onChange(keys);
  }

  return {
    store,
    set(change: Partial<PreferencesState> | ((now: PreferencesState) => Partial<PreferencesState>)) {
      const changed = typeof change === "function" ? change(store.getState()) : change;
      if (changed.theme !== undefined) showPageTheme(null);
      replace(changeValues(values, changed, repository));
    },
    // Looks like the partner's page until the person chooses a theme here.
    showPageTheme,
    showRepository,
    reset(name: SettingName): void {
      const { [SETTINGS[name].key]: _, ...rest } = values;
      replace(rest);
    },
    // The value after a reset, and whether it is the repository's.
    defaultOf(name: SettingName) {
      const value = defaultOf(name, repository);
      return { value, isOfRepository: value !== SETTINGS[name].default };
    },
    // The settings as JSON has them.
    values: (): SettingsValues => values,
    replace,
    // The names of the settings that this browser has and the server does not have yet.
    unwritten: openStorage<Record<string, true>>(`berth.unwritten.${user}`, {}),
    // Shows values that were chosen elsewhere.
    show,
    // Calls the listener with the names of settings that the person changed here.
    onChanged(listener: (keys: string[]) => void) {
      onChange = listener;
    },
    // For components that do not take their look from CSS. Called after the page has it.
    onApplied(listener: () => void): Disposable {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}

export const withFallback = (fonts: string): string => (fonts.trim() === "" ? "var(--mono)" : `${fonts}, var(--mono)`);

const isObject = (value: unknown): value is SettingsValues => typeof value === "object" && value !== null && !Array.isArray(value);
