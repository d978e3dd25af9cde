import { RangeSet, StateEffect, StateField, type Range } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, type DecorationSet } from "@codemirror/view";

export interface OtherCursor {
  id: string;
  name: string;
  colour: number;
  anchor: number;
  head: number;
}

export const showCursors = StateEffect.define<readonly OtherCursor[]>();

// The cursors and selections of others. They move with the text until the next report of their place.
const cursors = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    let next = shown.map(transaction.changes);
    for (const effect of transaction.effects) if (effect.is(showCursors)) next = decorate(effect.value, transaction.newDoc.length);
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

// Their positions may refer to a text that is a moment older or newer.
function decorate(all: readonly OtherCursor[], length: number): DecorationSet {
  const ranges = all.flatMap(({ name, colour, anchor, head }): Range<Decoration>[] => {
    const [from, to] = [Math.min(anchor, head, length), Math.min(Math.max(anchor, head), length)];
    const caret = Decoration.widget({ widget: new Caret(name, colour, head), side: 1 }).range(Math.min(head, length));
    return from === to ? [caret] : [Decoration.mark({ class: `cm-other-selection person-${colour}` }).range(from, to), caret];
  });
  return RangeSet.of(ranges, true);
}

class Caret extends WidgetType {
  readonly name: string;
  readonly colour: number;
  readonly head: number;

  constructor(name: string, colour: number, head: number) {
    super();
    this.head = head;
    this.name = name;
    this.colour = colour;
  }

  override eq(other: Caret): boolean {
    return other.name === this.name && other.colour === this.colour && other.head === this.head;
  }

  toDOM(): HTMLElement {
    const caret = document.createElement("span");
    caret.className = `cm-other-caret person-${this.colour}`;
    caret.setAttribute("aria-hidden", "true");
    caret.dataset["name"] = this.name;
    return caret;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

const theme = EditorView.baseTheme({
  ".cm-other-caret": {
    position: "relative",
    borderLeft: "2px solid var(--person)",
    marginLeft: "-1px",
    marginRight: "-1px",
    pointerEvents: "none",
  },
  ".cm-other-caret::after": {
    content: "attr(data-name)",
    position: "absolute",
    left: "-2px",
    bottom: "100%",
    maxWidth: "16em",
    padding: "0 5px",
    overflow: "hidden",
    textOverflow: "ellipsis",
    whiteSpace: "nowrap",
    borderRadius: "4px 4px 4px 0",
    background: "var(--person)",
    color: "#fff",
    font: "600 11px/16px var(--font-ui, sans-serif)",
    zIndex: "5",
    // The name covers text, so it goes away a moment after the cursor has moved.
    animation: "cm-other-name 3s forwards",
  },
  "@keyframes cm-other-name": { "0%, 80%": { opacity: "1" }, "100%": { opacity: "0" } },
  ".cm-line:first-child .cm-other-caret::after": { bottom: "auto", top: "100%", borderRadius: "0 4px 4px 4px" },
  ".cm-other-selection": { background: "color-mix(in srgb, var(--person) 28%, transparent)" },
});

export const otherCursors = [cursors, theme];

// The function that reports the place in a view while others can be there. Configuring the view for it would take longer.
export const reporters = new WeakMap<EditorView, () => void>();

export const placeReports = EditorView.updateListener.of(({ view, focusChanged, selectionSet, docChanged }) => {
  if ((focusChanged || selectionSet || docChanged) && view.hasFocus) reporters.get(view)?.();
});
