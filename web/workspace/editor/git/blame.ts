import { StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, type ViewUpdate, WidgetType } from "@codemirror/view";

interface Blame {
  // The line, counted from 1.
  line: number;
  text: string;
}

// Finds out who changed a line last; null if that is not known.
export type FindBlame = (line: number, signal: AbortSignal) => Promise<string | null>;

const WAIT_MS = 350;
const setBlame = StateEffect.define<Blame | null>();

const blame = StateField.define<Blame | null>({
  create: () => null,
  update(value, { docChanged, effects, state }) {
    let next = docChanged ? null : value;
    for (const effect of effects) if (effect.is(setBlame)) next = effect.value;
    return next?.line === state.doc.lineAt(state.selection.main.head).number ? next : null;
  },
  provide: (field) =>
    EditorView.decorations.compute([field], (state) => {
      const shown = state.field(field);
      if (shown === null) return Decoration.none;
      return Decoration.set(Decoration.widget({ widget: new Note(shown.text), side: 1 }).range(state.doc.line(shown.line).to));
    }),
});

class Note extends WidgetType {
  readonly text: string;

  constructor(text: string) {
    super();
    this.text = text;
  }

  override eq(other: Note): boolean {
    return other.text === this.text;
  }

  toDOM(): HTMLElement {
    const note = document.createElement("span");
    note.className = "cm-git-blame";
    note.textContent = this.text;
    return note;
  }
}

const finders = new WeakMap<EditorView, { update(): void }>();

// Shows the last commit of the current line behind it, a moment after the cursor has stopped there.
export function connectBlame(view: EditorView, findBlame: FindBlame): Disposable & { update(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let search: AbortController | null = null;
  const update = () => {
    clearTimeout(timer);
    search?.abort();
    timer = setTimeout(() => void show(), WAIT_MS);
  };
  async function show(): Promise<void> {
    search = new AbortController();
    const { signal } = search;
    const { number } = view.state.doc.lineAt(view.state.selection.main.head);
    const text = await findBlame(number, signal).catch(() => null);
    if (signal.aborted) return;
    if (text !== (view.state.field(blame, false)?.text ?? null))
      view.dispatch({ effects: setBlame.of(text === null ? null : { line: number, text }) });
  }
  finders.set(view, { update });
  return {
    update,
    [Symbol.dispose]() {
      clearTimeout(timer);
      search?.abort();
      finders.delete(view);
    },
  };
}

const onLineChange = EditorView.updateListener.of(({ view, docChanged, selectionSet, state, startState }: ViewUpdate) => {
  if (!docChanged && !selectionSet) return;
  const before = startState.doc.lineAt(startState.selection.main.head).number;
  if (docChanged || before !== state.doc.lineAt(state.selection.main.head).number) finders.get(view)?.update();
});

const look = EditorView.theme({
  ".cm-git-blame": { paddingLeft: "3em", color: "var(--muted)", opacity: "0.8", fontStyle: "italic", pointerEvents: "none" },
});

export const blameNote: Extension = [blame, onLineChange, look];
