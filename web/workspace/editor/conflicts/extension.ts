import { StateField, type EditorState, type Extension, type Range, type Transaction } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, type DecorationSet } from "@codemirror/view";
import { findConflicts, markerOf, type Conflict } from "../../text/conflicts.ts";
import { button, element } from "../../browser/elements.ts";
import { conflictActions, type ConflictActions, type ConflictSide } from "./actions.ts";

const conflicts = StateField.define<readonly Conflict[]>({
  create: ({ doc }) => findConflicts(doc.iterLines()),
  update: (found, transaction) => (mayChange(found, transaction) ? findConflicts(transaction.newDoc.iterLines()) : found),
  provide: (field) => [
    EditorView.decorations.compute([field], (state) => decorate(state, state.field(field))),
    conflictActions.computeN([field], (state) => (state.field(field).length === 0 ? [] : [actions])),
  ],
});

// Reading every line at every key would be slow, and few texts have conflicts.
function mayChange(found: readonly Conflict[], { docChanged, changes, newDoc }: Transaction): boolean {
  if (!docChanged || found.length > 0) return docChanged;
  let hasMarker = false;
  changes.iterChangedRanges((_fromA, _toA, fromB, toB) => {
    const last = newDoc.lineAt(toB).number;
    for (let number = newDoc.lineAt(fromB).number; number <= last; number++) hasMarker ||= markerOf(newDoc.line(number).text) !== null;
  });
  return hasMarker;
}

const actions: ConflictActions = {
  accept(view, side) {
    const line = lineOf(view.state);
    const found = view.state.field(conflicts);
    const chosen = found.find(({ end }) => end >= line) ?? found[0];
    if (chosen) accept(view, chosen, side);
  },
  goToNext(view) {
    const line = lineOf(view.state);
    const found = view.state.field(conflicts);
    const next = found.find(({ start }) => start > line) ?? found[0];
    if (!next) return;
    const at = view.state.doc.line(next.start).from;
    view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }), userEvent: "select.jump" });
    view.focus();
  },
};

const lineOf = ({ doc, selection }: EditorState): number => doc.lineAt(selection.main.head).number;

// Replaces a conflict by one of its sides. The editor can undo it.
function accept(view: EditorView, { start, base, separator, end }: Conflict, side: ConflictSide): void {
  const { doc } = view.state;
  if (view.state.readOnly) return;
  const behind = (line: number) => (line < doc.lines ? doc.line(line + 1).from : doc.length);
  const current = doc.slice(behind(start), doc.line(base ?? separator).from);
  const incoming = doc.slice(behind(separator), doc.line(end).from);
  const insert = side === "both" ? current.append(incoming) : side === "current" ? current : incoming;
  const { from } = doc.line(start);
  view.dispatch({
    changes: { from, to: behind(end), insert },
    selection: { anchor: from },
    scrollIntoView: true,
    userEvent: "input.conflict",
  });
  view.focus();
}

const markerLine = {
  current: lineClass("cm-conflict-current cm-conflict-marker"),
  incoming: lineClass("cm-conflict-incoming cm-conflict-marker"),
};
const sideLine = {
  current: lineClass("cm-conflict-current"),
  base: lineClass("cm-conflict-base"),
  incoming: lineClass("cm-conflict-incoming"),
};

function lineClass(name: string): Decoration {
  return Decoration.line({ class: name });
}

// Conflicts of generated files can have very many lines.
const MAX_MARKED_LINES = 20_000;

function decorate({ doc, readOnly }: EditorState, found: readonly Conflict[]): DecorationSet {
  const ranges: Range<Decoration>[] = [];
  const mark = (decoration: Decoration, from: number, to = from) => {
    for (let line = from; line <= to && ranges.length < MAX_MARKED_LINES; line++) ranges.push(decoration.range(doc.line(line).from));
  };
  for (const [i, conflict] of found.entries()) {
    const { start, base, separator, end } = conflict;
    if (!readOnly) {
      const widget = new ConflictBar(conflict, `Conflict ${i + 1} of ${found.length}`);
      ranges.push(Decoration.widget({ widget, block: true, side: -1 }).range(doc.line(start).from));
    }
    mark(markerLine.current, start);
    mark(sideLine.current, start + 1, (base ?? separator) - 1);
    if (base !== null) mark(sideLine.base, base, separator - 1);
    mark(sideLine.base, separator);
    mark(sideLine.incoming, separator + 1, end - 1);
    mark(markerLine.incoming, end);
    ranges.push(NAMES.current.range(doc.line(start).to), NAMES.incoming.range(doc.line(end).to));
  }
  return Decoration.set(ranges, true);
}

// The actions on a conflict, above its first line.
class ConflictBar extends WidgetType {
  readonly conflict: Conflict;
  readonly place: string;

  constructor(conflict: Conflict, place: string) {
    super();
    this.conflict = conflict;
    this.place = place;
  }

  override eq(other: ConflictBar): boolean {
    const [a, b] = [this.conflict, other.conflict];
    return this.place === other.place && a.start === b.start && a.base === b.base && a.separator === b.separator && a.end === b.end;
  }

  // The buttons handle their events themselves.
  override ignoreEvent(): boolean {
    return true;
  }

  toDOM(view: EditorView): HTMLElement {
    const bar = element("div", "cm-git-peek-bar");
    const choose = (text: string, side: ConflictSide) =>
      button(text, `${text} change${side === "both" ? "s" : ""}`, () => accept(view, this.conflict, side));
    bar.append(
      element("span", "cm-git-peek-place", this.place),
      choose("Accept current", "current"),
      choose("Accept incoming", "incoming"),
      choose("Accept both", "both"),
    );
    const around = element("div", "cm-git-peek");
    around.setAttribute("role", "group");
    around.setAttribute("aria-label", this.place);
    around.append(bar);
    return around;
  }
}

class SideName extends WidgetType {
  readonly text: string;

  constructor(text: string) {
    super();
    this.text = text;
  }

  override eq(other: SideName): boolean {
    return other.text === this.text;
  }

  toDOM(): HTMLElement {
    return element("span", "cm-conflict-name", this.text);
  }
}

const NAMES = {
  current: Decoration.widget({ widget: new SideName("(current change)"), side: 1 }),
  incoming: Decoration.widget({ widget: new SideName("(incoming change)"), side: 1 }),
};

const tint = (colour: string, percent: number) => ({ backgroundColor: `color-mix(in srgb, ${colour} ${percent}%, transparent)` });

const look = EditorView.theme({
  ".cm-conflict-current": tint("var(--good)", 13),
  ".cm-conflict-incoming": tint("var(--accent)", 13),
  ".cm-conflict-base": tint("var(--muted)", 13),
  ".cm-conflict-current.cm-conflict-marker": tint("var(--good)", 30),
  ".cm-conflict-incoming.cm-conflict-marker": tint("var(--accent)", 30),
  ".cm-conflict-name": { paddingLeft: "1ch", fontFamily: "var(--font)", fontSize: "12px", opacity: "0.8" },
});

// Colours both sides of merge conflicts, and offers to accept one of them or both.
export const mergeConflicts: Extension = [conflicts, look];
