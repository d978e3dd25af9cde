import type { LanguageCommand } from "../../state/tabs/active-editor.ts";
import type { Workspace } from "../../state/workspace.ts";
import type { Command } from "./command.ts";

// The editor's keymap handles these keys; here they are only shown.
const ENTRIES: [command: LanguageCommand, title: string, shortcut: string][] = [
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
export const createLanguageCommands = ({ activeEditor }: Workspace): Command[] =>
  ENTRIES.map(([command, title, shortcut]) => ({
    id: `language.${command}`,
    title,
    shortcut,
    handledBy: "editor",
    isAvailable: () => activeEditor.current()?.hasLanguageServer ?? false,
    run: () => activeEditor.current()?.runLanguage(command),
  }));
