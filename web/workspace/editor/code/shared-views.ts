import { history as undoHistory, historyField } from "@codemirror/commands";
import { closeSearchPanel } from "@codemirror/search";
import { Annotation, Transaction, type EditorSelection, type EditorState, type StateEffect, type TransactionSpec } from "@codemirror/state";
import { EditorView, type ViewUpdate } from "@codemirror/view";
import { pastEdits } from "./setup.ts";

// The views of one text. They share the text and its history, and each has its own selection and scroll position. One view
// leads: its state holds the history, which moves to the view that gets the keyboard focus.
export interface SharedViews {
  // The state of the leading view, or of the last one if none is mounted.
  state(): EditorState;
  // Changes the text.
  change(spec: TransactionSpec): void;
  // Reconfigures every view.
  configure(effects: StateEffect<unknown>): void;
  mount(container: HTMLElement, group: string): Disposable & { view: EditorView };
}

interface SharedViewsOptions {
  createState: (extension: ReturnType<typeof EditorView.updateListener.of>) => EditorState;
  // Also called for changes that were made in another view.
  onUpdate: (update: ViewUpdate) => void;
  // Called once for every change of the text.
  onChange: (transaction: Transaction) => void;
}

const copied = Annotation.define<boolean>();

// Whether a transaction repeats a change that was made in another view.
export const isCopied = (transaction: Transaction): boolean => transaction.annotation(copied) === true;

export function createSharedViews({ createState, onUpdate, onChange }: SharedViewsOptions): SharedViews {
  const views = new Set<EditorView>();
  // Selection and scroll position in each editor group that has shown the text.
  const places = new Map<string, { selection: EditorSelection; scrollPosition: StateEffect<unknown> | undefined }>();
  let leader: EditorView | null = null;
  let state = createState([
    EditorView.updateListener.of((update) => {
      if (update.view === leader) state = update.state;
      for (const transaction of update.transactions) if (transaction.docChanged && !isCopied(transaction)) copy(update.view, transaction);
      onUpdate(update);
    }),
    EditorView.domEventHandlers({ focus: (_event, view) => lead(view) }),
  ]);

  function copy(from: EditorView | null, transaction: Transaction): void {
    const { changes } = transaction;
    onChange(transaction);
    for (const [group, { selection, scrollPosition }] of places)
      places.set(group, { selection: selection.map(changes), scrollPosition: scrollPosition?.map(changes) });
    const annotations = [copied.of(true), Transaction.addToHistory.of(transaction.annotation(Transaction.addToHistory) !== false)];
    for (const view of views) if (view !== from) view.dispatch({ changes, annotations });
  }

  function lead(view: EditorView): void {
    if (view === leader) return;
    const past = state.field(historyField);
    leader?.dispatch({ effects: pastEdits.reconfigure([]) });
    leader = view;
    view.dispatch({ effects: pastEdits.reconfigure([undoHistory(), historyField.init(() => past)]) });
  }

  function startState(group: string): EditorState {
    const selection = places.get(group)?.selection ?? state.selection;
    const effects = leader === null ? [] : pastEdits.reconfigure([]);
    return state.update({ selection, effects, annotations: Transaction.addToHistory.of(false) }).state;
  }

  return {
    state: () => state,
    change(spec) {
      if (leader) return leader.dispatch(spec);
      const transaction = state.update(spec);
      state = transaction.state;
      copy(null, transaction);
    },
    configure(effects) {
      for (const view of views) view.dispatch({ effects });
      if (leader === null) state = state.update({ effects }).state;
    },
    mount(container, group) {
      const scrollPosition = places.get(group)?.scrollPosition ?? leader?.scrollSnapshot();
      const view = new EditorView({ state: startState(group), ...(scrollPosition && { scrollTo: scrollPosition }) });
      // The constructor reads the page's selection. If the editor were in the page by then, the browser would calculate the layout twice.
      container.append(view.dom);
      views.add(view);
      if (leader === null) {
        leader = view;
        state = view.state;
      } else closeSearchPanel(view);
      return {
        view,
        [Symbol.dispose]() {
          places.set(group, { selection: view.state.selection, scrollPosition: view.scrollSnapshot() });
          views.delete(view);
          const [next] = views;
          if (view === leader && next) lead(next);
          if (view === leader) leader = null;
          view.destroy();
        },
      };
    },
  };
}
