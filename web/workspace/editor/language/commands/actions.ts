import { Facet } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type { DocumentSymbol } from "../../../state/tabs/active-editor.ts";
import type { LanguageCommand } from "../../../state/tabs/editor-commands.ts";

// The actions that a language server offers in an editor.
export interface LanguageActions {
  run(view: EditorView, command: LanguageCommand): void;
  // Formats without messages.
  format(view: EditorView): Promise<void>;
  // Null if the server has no answer.
  symbols(view: EditorView): Promise<DocumentSymbol[] | null>;
}

// The actions of an editor whose file has a language server.
export const languageActions = Facet.define<LanguageActions, LanguageActions | null>({ combine: ([first]) => first ?? null });
