import { startCompletion } from "@codemirror/autocomplete";
import {
  addCursorAbove,
  addCursorBelow,
  copyLineDown,
  copyLineUp,
  cursorMatchingBracket,
  deleteLine,
  indentLess,
  indentMore,
  insertBlankLine,
  moveLineDown,
  moveLineUp,
  redo,
  selectLine,
  selectParentSyntax,
  toggleBlockComment,
  toggleComment,
  undo,
  undoSelection,
} from "@codemirror/commands";
import { foldAll, foldCode, unfoldAll, unfoldCode } from "@codemirror/language";
import { findNext, findPrevious, selectNextOccurrence, selectSelectionMatches } from "@codemirror/search";
import { EditorSelection } from "@codemirror/state";
import type { Command, EditorView, KeyBinding } from "@codemirror/view";
import type { EditorCommand } from "../../state/tabs/editor-commands.ts";
import { conflictActions, type ConflictActions } from "../conflicts/actions.ts";
import { openFind, openReplace } from "../find/find-commands.ts";

const insertLineAbove: Command = (view) => {
  const line = view.state.doc.lineAt(view.state.selection.main.head);
  const indent = /^\s*/.exec(line.text)?.[0] ?? "";
  view.dispatch({
    changes: { from: line.from, insert: `${indent}${view.state.lineBreak}` },
    selection: EditorSelection.cursor(line.from + indent.length),
    scrollIntoView: true,
    userEvent: "input",
  });
  return true;
};

function goToChange(view: EditorView, by: 1 | -1): boolean {
  void import("../git/change-commands.ts").then(({ moveToChange }) => moveToChange(view, by));
  return true;
}

const conflictCommand =
  (run: (actions: ConflictActions, view: EditorView) => void): Command =>
  (view) => {
    const actions = view.state.facet(conflictActions);
    if (actions) run(actions, view);
    return actions !== null;
  };

export const EDITOR_COMMANDS: Record<EditorCommand, Command> = {
  find: openFind,
  replace: openReplace,
  findNext,
  findPrevious,
  selectNextOccurrence,
  selectAllOccurrences: selectSelectionMatches,
  addCursorAbove,
  addCursorBelow,
  selectLine,
  expandSelection: selectParentSyntax,
  undoSelection,
  undo,
  redo,
  toggleComment,
  toggleBlockComment,
  moveLineUp,
  moveLineDown,
  copyLineUp,
  copyLineDown,
  deleteLine,
  insertLineBelow: insertBlankLine,
  insertLineAbove,
  indent: indentMore,
  outdent: indentLess,
  matchingBracket: cursorMatchingBracket,
  suggest: startCompletion,
  fold: foldCode,
  unfold: unfoldCode,
  foldAll,
  unfoldAll,
  nextChange: (view) => goToChange(view, 1),
  previousChange: (view) => goToChange(view, -1),
  nextConflict: conflictCommand((actions, view) => actions.goToNext(view)),
  acceptCurrent: conflictCommand((actions, view) => actions.accept(view, "current")),
  acceptIncoming: conflictCommand((actions, view) => actions.accept(view, "incoming")),
  acceptBoth: conflictCommand((actions, view) => actions.accept(view, "both")),
};

// The keys of VS Code that CodeMirror's own keymap lacks.
export const vsCodeKeys: KeyBinding[] = [
  { key: "Mod-Shift-l", run: selectSelectionMatches },
  { key: "Mod-d", run: selectNextOccurrence, preventDefault: true },
  { key: "Mod-l", run: selectLine, preventDefault: true },
  { key: "Shift-Alt-ArrowRight", mac: "Ctrl-Shift-Cmd-ArrowRight", run: selectParentSyntax },
  { key: "Mod-Shift-Enter", run: insertLineAbove },
];
