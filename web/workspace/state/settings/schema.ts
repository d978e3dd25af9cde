// The table of personal settings. Everything about a setting is here: its name in JSON, its default, its allowed values and how the
// settings page describes it.
export type Setting = { key: string; group: Group; title: string; description: string } & SettingType;

export type SettingType =
  | { type: "boolean"; default: boolean }
  | { type: "number"; default: number; min: number; max: number; unit?: string }
  | { type: "text"; default: string; placeholder: string; maxLength: number }
  | { type: "choice"; default: string; choices: Record<string, string> };

export const GROUPS = ["Appearance", "Editor", "Files", "Terminal"] as const;
export type Group = (typeof GROUPS)[number];

const FONT = { type: "text", default: "", placeholder: "The font of the page", maxLength: 200 } as const;

export const SETTINGS = {
  theme: {
    key: "workbench.theme",
    group: "Appearance",
    title: "Theme",
    description: "Light, dark, or as your system is set.",
    type: "choice",
    default: "system",
    choices: { system: "System", light: "Light", dark: "Dark" },
  },
  keymap: {
    key: "editor.keymap",
    group: "Editor",
    title: "Keyboard",
    description: "The keys of the editor.",
    type: "choice",
    default: "vscode",
    choices: { vscode: "VS Code", vim: "Vim" },
  },
  fontFamily: {
    key: "editor.fontFamily",
    group: "Editor",
    title: "Font",
    description: "Names of installed fonts, separated by commas.",
    ...FONT,
  },
  fontSize: {
    key: "editor.fontSize",
    group: "Editor",
    title: "Font size",
    description: "The size of the text in the editor.",
    type: "number",
    default: 13,
    min: 8,
    max: 40,
    unit: "px",
  },
  indentWith: {
    key: "editor.indentWith",
    group: "Editor",
    title: "Indentation",
    description: "For files whose text and .editorconfig do not show how they are indented.",
    type: "choice",
    default: "language",
    choices: { language: "As usual for the language", spaces: "Spaces", tabs: "Tabs" },
  },
  tabSize: {
    key: "editor.tabSize",
    group: "Editor",
    title: "Tab size",
    description: "The width of a tab, and how many spaces one level has if you indent with spaces.",
    type: "number",
    default: 4,
    min: 1,
    max: 16,
  },
  wrapLines: {
    key: "editor.wordWrap",
    group: "Editor",
    title: "Word wrap",
    description: "Long lines continue in the next row.",
    type: "boolean",
    default: false,
  },
  lineNumbers: {
    key: "editor.lineNumbers",
    group: "Editor",
    title: "Line numbers",
    description: "Relative numbers count from the line of the cursor.",
    type: "choice",
    default: "on",
    choices: { on: "On", relative: "Relative", off: "Off" },
  },
  whitespace: {
    key: "editor.renderWhitespace",
    group: "Editor",
    title: "Show whitespace",
    description: "Marks spaces and tabs.",
    type: "choice",
    default: "none",
    choices: { none: "None", trailing: "At the end of lines", all: "All" },
  },
  blame: {
    key: "editor.blame",
    group: "Editor",
    title: "Show the last commit of the line",
    description: "Names author and time of the last commit behind the current line.",
    type: "boolean",
    default: false,
  },
  formatOnSave: {
    key: "editor.formatOnSave",
    group: "Editor",
    title: "Format on save",
    description: "Formats a file when you save it, if there is a formatter for its language. Autosave does not format.",
    type: "boolean",
    default: false,
  },
  autosave: {
    key: "files.autosave",
    group: "Files",
    title: "Autosave",
    description: "Saves a file shortly after you stop typing.",
    type: "boolean",
    default: true,
  },
  autosaveDelayMs: {
    key: "files.autosaveDelay",
    group: "Files",
    title: "Autosave delay",
    description: "How long autosave waits after the last keystroke.",
    type: "number",
    default: 1000,
    min: 200,
    max: 60_000,
    unit: "ms",
  },
  terminalFontFamily: {
    key: "terminal.fontFamily",
    group: "Terminal",
    title: "Font",
    description: "Names of installed fonts with a fixed width, separated by commas.",
    ...FONT,
  },
  terminalFontSize: {
    key: "terminal.fontSize",
    group: "Terminal",
    title: "Font size",
    description: "The size of the text in terminals.",
    type: "number",
    default: 13,
    min: 8,
    max: 40,
    unit: "px",
  },
  cursorStyle: {
    key: "terminal.cursorStyle",
    group: "Terminal",
    title: "Cursor",
    description: "The shape of the cursor.",
    type: "choice",
    default: "block",
    choices: { block: "Block", underline: "Underline", bar: "Bar" },
  },
  cursorBlink: {
    key: "terminal.cursorBlink",
    group: "Terminal",
    title: "Blinking cursor",
    description: "The cursor blinks in a focused terminal that the GPU draws.",
    type: "boolean",
    default: true,
  },
  scrollback: {
    key: "terminal.scrollback",
    group: "Terminal",
    title: "Scrollback",
    description: "How many lines of output a terminal keeps. More lines need more memory.",
    type: "number",
    default: 10_000,
    min: 100,
    max: 100_000,
    unit: "lines",
  },
  terminalGpu: {
    key: "terminal.gpuAcceleration",
    group: "Terminal",
    title: "GPU acceleration",
    description: "Draws terminals with the graphics processor, if the browser offers one.",
    type: "choice",
    default: "auto",
    choices: { auto: "Automatic", on: "On", off: "Off" },
  },
  spokenTerminals: {
    key: "terminal.screenReader",
    group: "Terminal",
    title: "Screen reader support",
    description: "Reads the output of terminals aloud with a screen reader. It makes terminals slower.",
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

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];
