import type { EditorState, Range } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import { kindOf, lineChanges, lineStart, type Chunk, type LineChanges } from "./line-changes.ts";
import { button, element } from "../../browser/elements.ts";
import { closePeek, moveToChange, revertOpened, stageOpened } from "./change-commands.ts";

const MAX_MARKED_LINES = 2000;
const addedLine = Decoration.line({ class: "cm-git-added-line" });

// Shows the opened change between the lines: the old lines above the new ones, with buttons.
export const changePeek = EditorView.decorations.compute([lineChanges], (state) => peekDecorations(state, state.field(lineChanges)));

function peekDecorations({ doc }: EditorState, changes: LineChanges | null): DecorationSet {
  const chunk = changes?.opened ?? null;
  if (changes === null || chunk === null) return Decoration.none;
  const isBehindText = chunk.fromB > doc.length;
  const widget = Decoration.widget({ widget: new PeekWidget(changes, chunk), block: true, side: isBehindText ? 1 : -1 });
  const ranges: Range<Decoration>[] = [widget.range(isBehindText ? doc.length : lineStart(chunk, doc))];
  for (let at = chunk.fromB; at < chunk.toB && at <= doc.length && ranges.length < MAX_MARKED_LINES; at = doc.lineAt(at).to + 1)
    ranges.push(addedLine.range(doc.lineAt(at).from));
  return Decoration.set(ranges, true);
}

class PeekWidget extends WidgetType {
  readonly changes: LineChanges;
  readonly chunk: Chunk;

  constructor(changes: LineChanges, chunk: Chunk) {
    super();
    this.changes = changes;
    this.chunk = chunk;
  }

  override eq(other: PeekWidget): boolean {
    return other.chunk === this.chunk && other.changes.original === this.changes.original && other.changes.chunks === this.changes.chunks;
  }

  // The buttons handle their events themselves.
  override ignoreEvent(): boolean {
    return true;
  }

  toDOM(view: EditorView): HTMLElement {
    const { changes, chunk } = this;
    const bar = element("div", "cm-git-peek-bar");
    const place = element("span", "cm-git-peek-place", `Change ${changes.chunks.indexOf(chunk) + 1} of ${changes.chunks.length}`);
    bar.append(
      place,
      ...(view.state.readOnly
        ? []
        : [
            button("Stage", "Stage this change", () => stageOpened(view)),
            button("Revert", "Revert this change", () => revertOpened(view)),
          ]),
      button("↑", "Previous change", () => moveToChange(view, -1)),
      button("↓", "Next change", () => moveToChange(view, 1)),
      button("×", "Close", () => closePeek(view)),
    );
    const peek = element("div", "cm-git-peek");
    peek.setAttribute("role", "group");
    peek.setAttribute("aria-label", "Change");
    peek.append(bar);
    if (kindOf(chunk) !== "added") {
      const removed = changes.original.sliceString(chunk.fromA, Math.max(chunk.fromA, chunk.toA - 1));
      peek.append(element("pre", "cm-git-removed-lines", removed === "" ? " " : removed));
    }
    return peek;
  }
}
