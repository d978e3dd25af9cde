import { shortcutFor } from "../../browser/shortcuts.ts";

// The commands of a text editor with their titles and keys. The editor's own chunk carries them out, and its keymap handles the keys.
// "focused": a terminal has the key too.
export const editorCommands = () =>
  [
    ["find", "Find", "Mod+F", "focused"],
    ["replace", "Replace", shortcutFor("Mod+H", "Mod+Alt+F"), "focused"],
    ["findNext", "Find next", "F3", "focused"],
    ["findPrevious", "Find previous", "Shift+F3", "focused"],
    ["selectNextOccurrence", "Add next occurrence to selection", "Mod+D"],
    ["selectAllOccurrences", "Select all occurrences", "Mod+Shift+L"],
    ["addCursorAbove", "Add cursor above", "Mod+Alt+ArrowUp"],
    ["addCursorBelow", "Add cursor below", "Mod+Alt+ArrowDown"],
    ["selectLine", "Select line", "Mod+L"],
    ["expandSelection", "Expand selection", shortcutFor("Shift+Alt+ArrowRight", "Ctrl+Shift+Mod+ArrowRight")],
    ["undoSelection", "Undo cursor movement", "Mod+U"],
    ["undo", "Undo", "Mod+Z"],
    ["redo", "Redo", shortcutFor("Mod+Y", "Mod+Shift+Z")],
    ["toggleComment", "Toggle line comment", "Mod+/"],
    ["toggleBlockComment", "Toggle block comment", "Shift+Alt+A"],
    ["moveLineUp", "Move line up", "Alt+ArrowUp"],
    ["moveLineDown", "Move line down", "Alt+ArrowDown"],
    ["copyLineUp", "Copy line up", "Shift+Alt+ArrowUp"],
    ["copyLineDown", "Copy line down", "Shift+Alt+ArrowDown"],
    ["deleteLine", "Delete line", "Mod+Shift+K"],
    ["insertLineBelow", "Insert line below", "Mod+Enter"],
    ["insertLineAbove", "Insert line above", "Mod+Shift+Enter"],
    ["indent", "Indent lines", "Mod+]"],
    ["outdent", "Outdent lines", "Mod+["],
    ["matchingBracket", "Go to matching bracket", "Mod+Shift+\\"],
    ["suggest", "Show suggestions", "Ctrl+Space"],
    ["fold", "Fold", "Mod+Shift+["],
    ["unfold", "Unfold", "Mod+Shift+]"],
    ["foldAll", "Fold all"],
    ["unfoldAll", "Unfold all"],
    ["nextChange", "Go to next change", "Alt+F3"],
    ["previousChange", "Go to previous change", "Shift+Alt+F3"],
  ] as const;

export const CONFLICT_COMMANDS = [
  ["nextConflict", "Merge: go to next conflict"],
  ["acceptCurrent", "Merge: accept current change"],
  ["acceptIncoming", "Merge: accept incoming change"],
  ["acceptBoth", "Merge: accept both changes"],
] as const;

// The commands of a language server.
export const LANGUAGE_COMMANDS = [
  ["goToDefinition", "Go to definition", "F12"],
  ["findReferences", "Find references", "Shift+F12"],
  ["renameSymbol", "Rename symbol", "F2"],
  ["formatDocument", "Format document", "Shift+Alt+F"],
  ["nextProblem", "Go to next problem", "F8"],
  ["previousProblem", "Go to previous problem", "Shift+F8"],
  ["quickFix", "Quick fix…", "Mod+."],
  ["organizeImports", "Organize imports", "Shift+Alt+O"],
  ["signatureHelp", "Show parameters", "Mod+Shift+Space"],
] as const;

export type EditorCommand = ReturnType<typeof editorCommands>[number][0] | (typeof CONFLICT_COMMANDS)[number][0];
export type LanguageCommand = (typeof LANGUAGE_COMMANDS)[number][0];
