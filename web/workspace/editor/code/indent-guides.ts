import { getIndentUnit } from "@codemirror/language";
import { countColumn, RangeSetBuilder, type EditorState, type Extension } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";

// Thin lines at every level of indentation. They are a background of the line, so they need no elements.
export const indentGuides: Extension = [
  ViewPlugin.define(
    (created) => {
      let guides = guidesIn(created);
      return {
        guides: () => guides,
        update({ docChanged, viewportChanged, transactions, view }: ViewUpdate) {
          if (docChanged || viewportChanged || transactions.some(({ reconfigured }) => reconfigured)) guides = guidesIn(view);
        },
      };
    },
    { decorations: ({ guides }) => guides() },
  ),
  EditorView.baseTheme({
    ".cm-guided": {
      backgroundImage: "repeating-linear-gradient(to right, var(--guide) 0 1px, transparent 1px calc(var(--guide-step) * 1ch))",
      backgroundRepeat: "no-repeat",
      backgroundPosition: "6px 0",
      backgroundSize: "calc(var(--guide-step) * var(--guide-count) * 1ch - 1px) 100%",
    },
  }),
];

function guidesIn({ state, visibleRanges }: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const step = getIndentUnit(state);
  const columns = createColumnReader(state);
  let last = 0;
  for (const { from, to } of visibleRanges)
    for (let number = Math.max(last + 1, state.doc.lineAt(from).number); number <= state.doc.lineAt(to).number; number++) {
      last = number;
      const count = Math.ceil(columns(number) / step);
      const { from: start } = state.doc.line(number);
      if (count > 0) builder.add(start, start, Decoration.line({ class: "cm-guided", attributes: { style: styleOf(step, count) } }));
    }
  return builder.finish();
}

const styleOf = (step: number, count: number) => `--guide-step: ${step}; --guide-count: ${count}`;

const MAX_BLANK_LINES = 50;

// The indentation of a line in columns. A blank line has that of the lines around it.
function createColumnReader(state: EditorState): (number: number) => number {
  const known = new Map<number, number | null>();
  const read = (number: number): number | null => {
    const found = known.get(number);
    if (found !== undefined) return found;
    const { text } = state.doc.line(number);
    const end = text.search(/\S/);
    const columns = end < 0 ? null : countColumn(text, state.tabSize, end);
    known.set(number, columns);
    return columns;
  };
  const nearest = (number: number, by: 1 | -1): number => {
    for (let at = number, left = MAX_BLANK_LINES; left > 0 && at >= 1 && at <= state.doc.lines; at += by, left--) {
      const columns = read(at);
      if (columns !== null) return columns;
    }
    return 0;
  };
  return (number) => read(number) ?? Math.min(nearest(number, -1), nearest(number, 1));
}
