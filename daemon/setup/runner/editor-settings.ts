import type { RepositorySettings } from "@berth/contract/daemon.ts";
import { recordOf } from "../../io/json-values.ts";

// The settings of VS Code that the workspace's editor also has, and that say how a repository's texts are written. A repository does not choose
// a person's fonts or keys.
const SETTINGS: Record<string, (value: unknown) => RepositorySettings | null> = {
  "editor.tabSize": (value) =>
    Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 16 ? { "editor.tabSize": Number(value) } : null,
  "editor.insertSpaces": (value) => (typeof value === "boolean" ? { "editor.indentWith": value ? "spaces" : "tabs" } : null),
  "editor.wordWrap": (value) =>
    value === "off" ? { "editor.wordWrap": false } : WRAPS.includes(value) ? { "editor.wordWrap": true } : null,
  "editor.formatOnSave": (value) => (typeof value === "boolean" ? { "editor.formatOnSave": value } : null),
  "editor.renderWhitespace": (value) =>
    value === "none" || value === "trailing" || value === "all" ? { "editor.renderWhitespace": value } : null,
};
const WRAPS: unknown[] = ["on", "wordWrapColumn", "bounded"];

export interface EditorSettings {
  settings: RepositorySettings;
  // The names, as VS Code has them, of the settings that are used.
  used: string[];
  // Everything else, below `customizations`.
  unused: string[];
}

// Reads the settings that apply from a devcontainer.json's `customizations`.
export function editorSettingsOf(customizations: unknown): EditorSettings {
  const { vscode, ...others } = recordOf(customizations);
  const { settings: chosen, ...rest } = recordOf(vscode);
  const found: EditorSettings = { settings: {}, used: [], unused: [] };
  for (const [name, value] of Object.entries(recordOf(chosen))) {
    const setting = Object.hasOwn(SETTINGS, name) ? SETTINGS[name]!(value) : null;
    Object.assign(found.settings, setting);
    if (setting) found.used.push(name);
    else found.unused.push(`vscode.settings.${name}`);
  }
  // VS Code indents with spaces by default, and `tabSize` is then their number.
  if ("editor.tabSize" in found.settings) found.settings["editor.indentWith"] ??= "spaces";
  found.unused.push(...Object.keys(rest).map((name) => `vscode.${name}`), ...Object.keys(others));
  return found;
}
