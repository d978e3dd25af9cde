import { OF_REPOSITORIES, SETTING_NAMES, SETTINGS, type Setting, type SettingName, type SettingsState } from "./schema.ts";

// The settings that differ from their defaults, by their names in JSON. Names that this page does not know are kept, because
// another version of the page may know them.
export type SettingsValues = Readonly<Record<string, unknown>>;

export interface SettingsProblem {
  key: string;
  message: string;
}

// A value that is missing or not allowed is that of the repository, or else the default.
export function readSettings(values: SettingsValues, repository: SettingsValues = {}): SettingsState {
  return Object.fromEntries(SETTING_NAMES.map((name) => [name, own(name, values) ?? defaultOf(name, repository)])) as SettingsState;
}

// The value for a person who has chosen none.
export const defaultOf = (name: SettingName, repository: SettingsValues): unknown =>
  (OF_REPOSITORIES.has(name) ? own(name, repository) : undefined) ?? SETTINGS[name].default;

function own(name: SettingName, values: SettingsValues): unknown {
  const setting: Setting = SETTINGS[name];
  const value = values[setting.key];
  return Object.hasOwn(values, setting.key) && faultOf(setting, value) === null ? value : undefined;
}

// The values after a change. A setting that is set to its default is left out.
export function changeValues(values: SettingsValues, change: Partial<SettingsState>, repository: SettingsValues = {}): SettingsValues {
  const next: Record<string, unknown> = { ...values };
  for (const [name, value] of Object.entries(change)) {
    const setting: Setting = SETTINGS[name as SettingName];
    if (value === defaultOf(name as SettingName, repository)) delete next[setting.key];
    else next[setting.key] = value;
  }
  return next;
}

export function problemsOf(values: SettingsValues): SettingsProblem[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const setting = byKey.get(key);
    const message = setting ? faultOf(setting, value) : `There is no setting "${key}".`;
    return message === null ? [] : [{ key, message }];
  });
}

const byKey = new Map<string, Setting>(SETTING_NAMES.map((name) => [SETTINGS[name].key, SETTINGS[name]]));

// Why a setting cannot have a value, or null.
export function faultOf(setting: Setting, value: unknown): string | null {
  const { key } = setting;
  if (setting.type === "boolean") return typeof value === "boolean" ? null : `${key} must be true or false.`;
  if (setting.type === "number") {
    const { min, max } = setting;
    const isGood = typeof value === "number" && value >= min && value <= max;
    return isGood ? null : `${key} must be a number from ${min} to ${max}.`;
  }
  if (setting.type === "choice") {
    const isGood = typeof value === "string" && Object.hasOwn(setting.choices, value);
    return isGood
      ? null
      : `${key} must be one of ${Object.keys(setting.choices)
          .map((choice) => `"${choice}"`)
          .join(", ")}.`;
  }
  if (typeof value !== "string" || value.length > setting.maxLength)
    return `${key} must be a text of at most ${setting.maxLength} characters.`;
  return /[;{}<>\\]/.test(value) ? `${key} must not contain any of ; { } < > \\.` : null;
}
