import type { SettingName } from "../../state/settings/schema.ts";

export const GROUPS = ["Appearance", "Editor", "Files", "Terminal"] as const;

export interface SettingText {
  group: (typeof GROUPS)[number];
  title: string;
  description: string;
}

// The titles and descriptions on the settings page.
export const SETTING_TEXTS: Record<SettingName, SettingText> = {
  theme: {
    group: "Appearance",
    title: "Theme",
    description: "Light, dark, or as your system is set.",
  },
  keymap: {
    group: "Editor",
    title: "Keyboard",
    description: "The keys of the editor.",
  },
  fontFamily: {
    group: "Editor",
    title: "Font",
    description: "Names of installed fonts, separated by commas.",
  },
  fontSize: {
    group: "Editor",
    title: "Font size",
    description: "The size of the text in the editor.",
  },
  indentWith: {
    group: "Editor",
    title: "Indentation",
    description: "For files whose text and .editorconfig do not show how they are indented.",
  },
  tabSize: {
    group: "Editor",
    title: "Tab size",
    description: "The width of a tab, and how many spaces one level has if you indent with spaces.",
  },
  wrapLines: {
    group: "Editor",
    title: "Word wrap",
    description: "Long lines continue in the next row.",
  },
  lineNumbers: {
    group: "Editor",
    title: "Line numbers",
    description: "Relative numbers count from the line of the cursor.",
  },
  whitespace: {
    group: "Editor",
    title: "Show whitespace",
    description: "Marks spaces and tabs.",
  },
  blame: {
    group: "Editor",
    title: "Show the last commit of the line",
    description: "Names author and time of the last commit behind the current line.",
  },
  formatOnSave: {
    group: "Editor",
    title: "Format on save",
    description: "Formats a file when you save it, if there is a formatter for its language. Autosave does not format.",
  },
  autosave: {
    group: "Files",
    title: "Autosave",
    description: "Saves a file shortly after you stop typing.",
  },
  autosaveDelayMs: {
    group: "Files",
    title: "Autosave delay",
    description: "How long autosave waits after the last keystroke.",
  },
  terminalFontFamily: {
    group: "Terminal",
    title: "Font",
    description: "Names of installed fonts with a fixed width, separated by commas.",
  },
  terminalFontSize: {
    group: "Terminal",
    title: "Font size",
    description: "The size of the text in terminals.",
  },
  cursorStyle: {
    group: "Terminal",
    title: "Cursor",
    description: "The shape of the cursor.",
  },
  cursorBlink: {
    group: "Terminal",
    title: "Blinking cursor",
    description: "The cursor blinks in a focused terminal that the GPU draws.",
  },
  scrollback: {
    group: "Terminal",
    title: "Scrollback",
    description: "How many lines of output a terminal keeps. More lines need more memory.",
  },
  terminalGpu: {
    group: "Terminal",
    title: "GPU acceleration",
    description: "Draws terminals with the graphics processor, if the browser offers one.",
  },
  spokenTerminals: {
    group: "Terminal",
    title: "Screen reader support",
    description: "Reads the output of terminals aloud with a screen reader. It makes terminals slower.",
  },
};
