import { Facet } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";

export type ConflictSide = "current" | "incoming" | "both";

// The actions on the merge conflicts of a text.
export interface ConflictActions {
  // Resolves the conflict at the cursor, or the next one.
  accept(view: EditorView, side: ConflictSide): void;
  goToNext(view: EditorView): void;
}

// Null in a text without conflicts.
export const conflictActions = Facet.define<ConflictActions, ConflictActions | null>({ combine: ([first]) => first ?? null });
