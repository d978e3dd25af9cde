import { shortcutFor } from "../../browser/shortcuts.ts";
import type { ConflictCommand, EditorCommand, LanguageCommand } from "../../state/tabs/active-editor.ts";
import type { Command } from "./command.ts";
import type { Uses } from "../../actions/actions.ts";

type Entry = [command: EditorCommand, title: string, shortcut?: string, handledBy?: Command["handledBy"]];

// The editor's keymap handles these keys; here they are only shown.
const entries = (): Entry[] => [
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
];

const CONFLICT_TITLES: [command: ConflictCommand, title: string][] = [
  ["nextConflict", "Merge: go to next conflict"],
  ["acceptCurrent", "Merge: accept current change"],
  ["acceptIncoming", "Merge: accept incoming change"],
  ["acceptBoth", "Merge: accept both changes"],
];

// The commands of the active text editor. Without one, the palette does not offer them.
export const createEditorCommands = ({ activeEditor }: Uses<"activeEditor">): Command[] => [
  ...entries().map(([command, title, shortcut, handledBy = "editor"]): Command => ({
    id: `editor.${command}`,
    title,
    ...(shortcut === undefined ? {} : { shortcut, handledBy }),
    isAvailable: () => activeEditor.current() !== null,
    run: () => activeEditor.current()?.run(command),
  })),
  ...CONFLICT_TITLES.map(([command, title]): Command => ({
    id: `editor.${command}`,
    title,
    isAvailable: () => activeEditor.current()?.hasConflicts ?? false,
    run: () => activeEditor.current()?.run(command),
  })),
];

const LANGUAGE_ENTRIES: [command: LanguageCommand, title: string, shortcut: string][] = [
  ["goToDefinition", "Go to definition", "F12"],
  ["findReferences", "Find references", "Shift+F12"],
  ["renameSymbol", "Rename symbol", "F2"],
  ["formatDocument", "Format document", "Shift+Alt+F"],
  ["nextProblem", "Go to next problem", "F8"],
  ["previousProblem", "Go to previous problem", "Shift+F8"],
  ["quickFix", "Quick fix…", "Mod+."],
  ["organizeImports", "Organize imports", "Shift+Alt+O"],
  ["signatureHelp", "Show parameters", "Mod+Shift+Space"],
];

// The commands of language servers. The palette offers them only for a file that has one.
export const createLanguageCommands = ({ activeEditor }: Uses<"activeEditor">): Command[] =>
  LANGUAGE_ENTRIES.map(([command, title, shortcut]) => ({
    id: `language.${command}`,
    title,
    shortcut,
    handledBy: "editor",
    isAvailable: () => activeEditor.current()?.hasLanguageServer ?? false,
    run: () => activeEditor.current()?.runLanguage(command),
  }));
