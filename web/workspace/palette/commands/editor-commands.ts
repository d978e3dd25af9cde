import type { Uses } from "../../actions/actions.ts";
import { CONFLICT_COMMANDS, editorCommands, LANGUAGE_COMMANDS, type EditorCommand } from "../../state/tabs/editor-commands.ts";
import type { Command } from "./command.ts";

type Entry = readonly [command: EditorCommand, title: string, shortcut?: string, handledBy?: Command["handledBy"]];

// The commands of the active text editor. Without one, the palette does not offer them.
export const createEditorCommands = ({ activeEditor }: Uses<"activeEditor">): Command[] => [
  ...(editorCommands() as readonly Entry[]).map(([command, title, shortcut, handledBy = "editor"]): Command => ({
    id: `editor.${command}`,
    title,
    ...(shortcut === undefined ? {} : { shortcut, handledBy }),
    isAvailable: () => activeEditor.current() !== null,
    run: () => activeEditor.current()?.run(command),
  })),
  ...CONFLICT_COMMANDS.map(([command, title]): Command => ({
    id: `editor.${command}`,
    title,
    isAvailable: () => activeEditor.current()?.hasConflicts ?? false,
    run: () => activeEditor.current()?.run(command),
  })),
];

// The commands of language servers. The palette offers them only for a file that has one.
export const createLanguageCommands = ({ activeEditor }: Uses<"activeEditor">): Command[] =>
  LANGUAGE_COMMANDS.map(([command, title, shortcut]) => ({
    id: `language.${command}`,
    title,
    shortcut,
    handledBy: "editor",
    isAvailable: () => activeEditor.current()?.hasLanguageServer ?? false,
    run: () => activeEditor.current()?.runLanguage(command),
  }));
