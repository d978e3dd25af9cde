import { EditorSelection } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { afterFirstScreen } from "../../browser/first-text.ts";
import type { TextEditorHandle } from "../../state/tabs/active-editor.ts";
import type { TextLocation } from "../../state/tabs/cursor.ts";
import { conflictActions } from "../conflicts/actions.ts";
import { languageActions } from "../language/commands/actions.ts";
import { loadFindWidget } from "../find/find-panel.ts";
import { bufferFor, type BufferDeps } from "./buffer.ts";
import { EDITOR_COMMANDS } from "./editor-commands.ts";
import { symbolsOf } from "./symbols.ts";

// Lets commands of the workspace reach an editor while it is on screen.
export function attachEditor(deps: BufferDeps, view: EditorView, path: string): Disposable {
  const handle: TextEditorHandle = {
    path,
    get lines() {
      return view.state.doc.lines;
    },
    run(command) {
      // A command that opens a field moves the focus there.
      view.focus();
      EDITOR_COMMANDS[command](view);
    },
    get hasConflicts() {
      return view.state.facet(conflictActions) !== null;
    },
    get hasLanguageServer() {
      return view.state.facet(languageActions) !== null;
    },
    runLanguage(command) {
      view.focus();
      view.state.facet(languageActions)?.run(view, command);
    },
    format: async () => await view.state.facet(languageActions)?.format(view),
    goTo: (target) => goTo(view, target),
    selection() {
      const { doc, selection } = view.state;
      const { from, to, empty } = selection.main;
      if (empty) return null;
      const last = doc.lineAt(to);
      // A selection up to the start of a line contains nothing of that line.
      const toLine = last.from === to ? last.number - 1 : last.number;
      const fromLine = doc.lineAt(from).number;
      return { fromLine, toLine: Math.max(fromLine, toLine), text: view.state.sliceDoc(from, to) };
    },
    async symbols() {
      await bufferFor(deps, path).languageLoaded;
      return (await view.state.facet(languageActions)?.symbols(view)) ?? symbolsOf(view.state);
    },
  };
  const attached = deps.activeEditor.attach(handle);
  void afterFirstScreen().then(loadFindWidget);
  view.dom.addEventListener("focusin", attached.activate);
  return {
    [Symbol.dispose]() {
      view.dom.removeEventListener("focusin", attached.activate);
      attached[Symbol.dispose]();
    },
  };
}

export function goTo(view: EditorView, { line, column, length = 0 }: TextLocation): void {
  const { doc } = view.state;
  const at = doc.line(Math.min(Math.max(1, line), doc.lines));
  const from = Math.min(at.from + column - 1, at.to);
  view.dispatch({
    selection: EditorSelection.single(from, Math.min(from + length, doc.length)),
    effects: EditorView.scrollIntoView(from, { y: "center" }),
    userEvent: "select.jump",
  });
  view.focus();
}
