import { Prec, type Extension } from "@codemirror/state";
import { EditorView, gutter, GutterMarker, keymap } from "@codemirror/view";
import { closePeek, moveToChange, toggleAt } from "./change-commands.ts";
import { changePeek } from "./change-peek.ts";
import { chunkAt, kindOf, lineChanges } from "./line-changes.ts";

class ChangeMarker extends GutterMarker {
  readonly kind: string;

  constructor(kind: string) {
    super();
    this.kind = kind;
    this.elementClass = `cm-git-mark ${kind}`;
  }

  override eq(other: ChangeMarker): boolean {
    return other.kind === this.kind;
  }
}

const markers = { added: new ChangeMarker("added"), changed: new ChangeMarker("changed"), removed: new ChangeMarker("removed") };

const marks = gutter({
  class: "cm-git-gutter",
  lineMarker(view, { from }) {
    const changes = view.state.field(lineChanges, false);
    const chunk = changes && chunkAt(changes, from, view.state.doc);
    return chunk ? markers[kindOf(chunk)] : null;
  },
  lineMarkerChange: ({ state, startState }) => state.field(lineChanges, false)?.chunks !== startState.field(lineChanges, false)?.chunks,
  domEventHandlers: { mousedown: (view, { from }) => toggleAt(view, from) },
});

const look = EditorView.theme({
  // Takes the place of the space beside the numbers, so that the text hardly moves when the marks appear.
  "&.cm-editor .cm-gutters": { paddingRight: "0" },
  ".cm-git-gutter": { width: "7px" },
  ".cm-git-mark": { position: "relative", cursor: "pointer" },
  ".cm-git-mark::before": { content: '""', position: "absolute", left: "1px", top: "0", bottom: "0", width: "3px" },
  ".cm-git-mark:hover::before": { width: "5px" },
  ".cm-git-mark.added::before": { background: "var(--good)" },
  ".cm-git-mark.changed::before": { background: "var(--accent)" },
  ".cm-git-mark.removed::before": {
    bottom: "auto",
    top: "-4px",
    width: "0",
    border: "4px solid transparent",
    borderLeft: "6px solid var(--bad)",
  },
  ".cm-git-added-line": { backgroundColor: "var(--added)" },
  ".cm-git-peek": { borderBlock: "1px solid var(--border-strong)", background: "var(--surface)", fontFamily: "var(--font)" },
  // Stays on the screen while long lines are scrolled.
  ".cm-git-peek-bar": {
    position: "sticky",
    left: "56px",
    display: "flex",
    flexWrap: "wrap",
    alignItems: "center",
    gap: "6px",
    width: "max-content",
    maxWidth: "calc(100vw - 110px)",
    padding: "4px 8px",
    userSelect: "none",
  },
  ".cm-git-peek-place": { marginRight: "8px", color: "var(--muted)", fontSize: "12px" },
  ".cm-git-removed-lines": {
    margin: "0",
    padding: "0 6px",
    maxHeight: "240px",
    overflow: "auto",
    background: "var(--removed)",
    fontFamily: "var(--mono)",
  },
});

const keys = Prec.high(
  keymap.of([
    { key: "Alt-F3", run: (view) => moveToChange(view, 1) },
    { key: "Shift-Alt-F3", run: (view) => moveToChange(view, -1) },
    { key: "Escape", run: closePeek },
  ]),
);

// Marks added, changed and removed lines beside their numbers. A click on a mark shows the change.
export const changeGutter: Extension = [lineChanges, changePeek, marks, look, keys];
