import { closeSearchPanel, getSearchQuery, openSearchPanel, replaceAll, selectMatches } from "@codemirror/search";
import { EditorSelection, type StateEffect } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { changeFind, focusFind, lastFindOptions, optionsOf, showReplace } from "./find-state.ts";

const MAX_SELECTED_CHARS = 200;

// Takes the selected text as the query. Without one, it starts with the last query of any editor.
export function openFind(view: EditorView): boolean {
  const { from, to, empty } = view.state.selection.main;
  const isUsable = !empty && to - from <= MAX_SELECTED_CHARS && to <= view.state.doc.lineAt(from).to;
  const hadFocus = view.dom.querySelector(".find-widget")?.contains(document.activeElement) === true;
  const current = optionsOf(view.state);
  const base = current.search === "" ? lastFindOptions() : current;
  openSearchPanel(view);
  const query = isUsable && !hadFocus ? { ...base, search: view.state.sliceDoc(from, to), regexp: false } : base;
  view.dispatch({ effects: [...changeFind(view.state, query), focusFind.of(null)] });
  return true;
}

export function openReplace(view: EditorView): boolean {
  view.dispatch({ effects: showReplace.of(true) });
  return openFind(view);
}

// The next search covers the whole text again.
export function closeFind(view: EditorView): boolean {
  if (!closeSearchPanel(view)) return false;
  view.dispatch({ effects: [showReplace.of(false), ...changeFind(view.state, { scope: null })] });
  return true;
}

export function selectAllMatches(view: EditorView): boolean {
  selectMatches(view);
  view.focus();
  return true;
}

// Selects the first match at or after the start of the selection, while the query is typed.
export function selectFirstMatch(view: EditorView): void {
  const query = getSearchQuery(view.state);
  if (!query.valid) return;
  const start = view.state.selection.main.from;
  const after = query.getCursor(view.state, start).next();
  const found = after.done === true ? query.getCursor(view.state).next() : after;
  if (found.done === true) return;
  const { from, to } = found.value;
  view.dispatch({ selection: EditorSelection.single(from, to), effects: scrollToMatch({ from, to }) });
}

// Leaves lines around the match in view.
export const scrollToMatch = ({ from, to }: { from: number; to: number }): StateEffect<unknown> =>
  EditorView.scrollIntoView(EditorSelection.range(from, to), { yMargin: 60 });

// Limits the search to the selected text, or to the whole text again.
export function toggleScope(view: EditorView): void {
  const { state } = view;
  const selected = state.selection.ranges.filter(({ empty }) => !empty).map(({ from, to }) => ({ from, to }));
  const limited = getSearchQuery(state).test !== undefined;
  view.dispatch({ effects: changeFind(state, { scope: limited || selected.length === 0 ? null : selected }) });
}

// Replaces every match in one step of the undo history.
export const replaceEverything = (view: EditorView): boolean => replaceAll(view);
