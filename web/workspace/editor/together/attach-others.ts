import type { EditorView } from "@codemirror/view";
import { othersIn } from "../../state/together/together.ts";
import { reporters, showCursors, type OtherCursor } from "./cursors.ts";
import type { Uses } from "../../actions/actions.ts";

// Shows the cursors of others in an editor, and tells them where this one is.
export function attachOthers({ together }: Uses<"together">, view: EditorView, path: string): Disposable {
  const report = () => {
    const { anchor, head } = view.state.selection.main;
    together.moveTo({ path, selection: { anchor, head } });
  };
  reporters.set(view, report);
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
      reporters.delete(view);
    },
  };
}
