import type { TextLocation } from "./cursor.ts";
import type { EditorCommand, LanguageCommand } from "./editor-commands.ts";

// A named part of a file, such as a function or a heading.
export interface DocumentSymbol extends TextLocation {
  name: string;
  kind: string;
  // How many other symbols contain it.
  depth: number;
}

export interface TextEditorHandle {
  readonly path: string;
  readonly lines: number;
  run(command: EditorCommand): void;
  readonly hasConflicts: boolean;
  readonly hasLanguageServer: boolean;
  runLanguage(command: LanguageCommand): void;
  // Formats the text, if the language server or a formatter can.
  format(): Promise<void>;
  goTo(location: TextLocation): void;
  // The selected lines with their text; null if nothing is selected.
  selection(): { fromLine: number; toLine: number; text: string } | null;
  symbols(): Promise<DocumentSymbol[]>;
}

export interface AttachedEditor extends Disposable {
  // The editor has the keyboard focus.
  activate(): void;
}

// The text editor that commands apply to: the one on screen that had the keyboard focus last.
export function createActiveEditor() {
  // The last one is the active one.
  const shown = new Set<TextEditorHandle>();
  return {
    current: (): TextEditorHandle | null => [...shown].at(-1) ?? null,
    attach(editor: TextEditorHandle): AttachedEditor {
      const activate = () => {
        shown.delete(editor);
        shown.add(editor);
      };
      activate();
      return { activate, [Symbol.dispose]: () => void shown.delete(editor) };
    },
  };
}
