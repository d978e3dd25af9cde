import { Compartment, StateEffect } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { othersIn } from "../../state/together/together.ts";
import type { Workspace } from "../../state/workspace.ts";
import { otherCursors, showCursors, type OtherCursor } from "./cursors.ts";

// Shows the cursors of others in an editor, and tells them where this one is.
export function attachOthers({ together }: Workspace, view: EditorView, path: string): Disposable {
  const reporting = new Compartment();
  const report = () => {
    const { anchor, head } = view.state.selection.main;
    together.moveTo({ path, selection: { anchor, head } });
  };
  const listener = EditorView.updateListener.of((update) => {
    if (update.focusChanged && view.hasFocus) report();
    else if ((update.selectionSet || update.docChanged) && view.hasFocus) report();
  });
  view.dispatch({ effects: StateEffect.appendConfig.of([reporting.of(listener), otherCursors]) });
  if (together.store.getState().place?.path !== path) report();

  let shown = "";
  const show = () => {
    const cursors = othersIn(together.store.getState()).flatMap(({ id, name, colour, place }): OtherCursor[] =>
      place?.path === path && place.selection ? [{ id, name, colour, ...place.selection }] : [],
    );
    const key = JSON.stringify(cursors);
    if (key === shown) return;
    shown = key;
    view.dispatch({ effects: showCursors.of(cursors) });
  };
  const unsubscribe = together.store.subscribe(show);
  show();
  return {
    [Symbol.dispose]() {
      unsubscribe();
      if (together.store.getState().place?.path === path) together.moveTo(null);
      view.dispatch({ effects: reporting.reconfigure([]) });
    },
  };
}
