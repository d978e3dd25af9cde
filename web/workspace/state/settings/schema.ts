// The table of personal settings: the name in JSON, the default and the allowed values of each. Their titles and descriptions are in
// editor/settings/setting-texts.ts, which loads with the settings page.
export type Setting = { key: string } & SettingType;

export type SettingType =
  | { type: "boolean"; default: boolean }
  | { type: "number"; default: number; min: number; max: number; unit?: string }
  | { type: "text"; default: string; placeholder: string; maxLength: number }
  | { type: "choice"; default: string; choices: Record<string, string> };

const FONT = { type: "text", default: "", placeholder: "The font of the page", maxLength: 200 } as const;

export const SETTINGS = {
  theme: {
    key: "workbench.theme",
    type: "choice",
    default: "system",
    choices: { system: "System", light: "Light", dark: "Dark" },
  },
  keymap: {
    key: "editor.keymap",
    type: "choice",
    default: "vscode",
    choices: { vscode: "VS Code", vim: "Vim" },
  },
  fontFamily: {
    key: "editor.fontFamily",
    ...FONT,
  },
  fontSize: {
    key: "editor.fontSize",
    type: "number",
    default: 13,
    min: 8,
    max: 40,
    unit: "px",
  },
  indentWith: {
    key: "editor.indentWith",
    type: "choice",
    default: "language",
    choices: { language: "As usual for the language", spaces: "Spaces", tabs: "Tabs" },
  },
  tabSize: {
    key: "editor.tabSize",
    type: "number",
    default: 4,
    min: 1,
    max: 16,
  },
  wrapLines: {
    key: "editor.wordWrap",
    type: "boolean",
    default: false,
  },
  lineNumbers: {
    key: "editor.lineNumbers",
    type: "choice",
    default: "on",
    choices: { on: "On", relative: "Relative", off: "Off" },
  },
  whitespace: {
    key: "editor.renderWhitespace",
    type: "choice",
    default: "none",
    choices: { none: "None", trailing: "At the end of lines", all: "All" },
  },
  blame: {
    key: "editor.blame",
    type: "boolean",
    default: false,
  },
  formatOnSave: {
    key: "editor.formatOnSave",
    type: "boolean",
    default: false,
  },
  autosave: {
    key: "files.autosave",
    type: "boolean",
    default: true,
  },
  autosaveDelayMs: {
    key: "files.autosaveDelay",
    type: "number",
    default: 1000,
    min: 200,
    max: 60_000,
    unit: "ms",
  },
  terminalFontFamily: {
    key: "terminal.fontFamily",
    ...FONT,
  },
  terminalFontSize: {
    key: "terminal.fontSize",
    type: "number",
    default: 13,
    min: 8,
    max: 40,
    unit: "px",
  },
  cursorStyle: {
    key: "terminal.cursorStyle",
    type: "choice",
    default: "block",
    choices: { block: "Block", underline: "Underline", bar: "Bar" },
  },
  cursorBlink: {
    key: "terminal.cursorBlink",
    type: "boolean",
    default: true,
  },
  scrollback: {
    key: "terminal.scrollback",
    type: "number",
    default: 10_000,
    min: 100,
    max: 100_000,
    unit: "lines",
  },
  terminalGpu: {
    key: "terminal.gpuAcceleration",
    type: "choice",
    default: "auto",
    choices: { auto: "Automatic", on: "On", off: "Off" },
  },
  spokenTerminals: {
    key: "terminal.screenReader",
    type: "boolean",
    default: false,
  },
} as const satisfies Record<string, Setting>;

type Table = typeof SETTINGS;
export type SettingName = keyof Table;
type ValueOf<Entry> = Entry extends { type: "boolean" }
  ? boolean
  : Entry extends { type: "number" }
    ? number
    : Entry extends { choices: infer Choices }
      ? keyof Choices & string
      : string;

export type SettingsState = { -readonly [Name in SettingName]: ValueOf<Table[Name]> };

// The settings that a repository may choose for people who have not: those about how its texts are written.
export const OF_REPOSITORIES: ReadonlySet<SettingName> = new Set(["indentWith", "tabSize", "wrapLines", "whitespace", "formatOnSave"]);

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];
