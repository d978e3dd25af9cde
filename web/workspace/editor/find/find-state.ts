import { getSearchQuery, SearchQuery, setSearchQuery } from "@codemirror/search";
import { StateEffect, StateField, type EditorState } from "@codemirror/state";
import { Decoration, EditorView, type DecorationSet } from "@codemirror/view";

// The options that people change in the widget.
export interface FindOptions {
  search: string;
  replace: string;
  caseSensitive: boolean;
  wholeWord: boolean;
  regexp: boolean;
}

interface FindState {
  replaceShown: boolean;
  // The text that the search is limited to, or null. It follows edits.
  scope: DecorationSet | null;
}

export const showReplace = StateEffect.define<boolean>();
export const setScope = StateEffect.define<readonly { from: number; to: number }[] | null>();
// Requests the keyboard focus for the widget's first field.
export const focusFind = StateEffect.define<null>();

const scopeMark = Decoration.mark({ class: "cm-findScope", inclusive: true });

// The state of our widget beside CodeMirror's own search state.
export const findState = StateField.define<FindState>({
  create: () => ({ replaceShown: false, scope: null }),
  update(value, transaction) {
    let next = value;
    if (transaction.docChanged && value.scope) next = { ...next, scope: value.scope.map(transaction.changes) };
    for (const effect of transaction.effects) {
      if (effect.is(showReplace)) next = { ...next, replaceShown: effect.value };
      if (effect.is(setScope)) next = { ...next, scope: markScope(effect.value) };
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field, ({ scope }) => scope ?? Decoration.none),
});

const markScope = (ranges: readonly { from: number; to: number }[] | null): DecorationSet | null =>
  ranges && Decoration.set(ranges.map(({ from, to }) => scopeMark.range(from, to)));

export const isLimited = (state: EditorState): boolean => state.field(findState).scope !== null;

// Whether a match lies in the text that the search is limited to.
function isInScope(_match: string, state: EditorState, from: number, to: number): boolean {
  let inside = false;
  state.field(findState).scope?.between(from, to, (start, end) => {
    inside ||= start <= from && to <= end;
  });
  return inside;
}

export function optionsOf(state: EditorState): FindOptions {
  const { search, replace, caseSensitive, wholeWord, regexp } = getSearchQuery(state);
  return { search, replace, caseSensitive, wholeWord, regexp };
}

// The last query in any editor, so that another file can be searched for the same text.
let lastOptions: FindOptions = { search: "", replace: "", caseSensitive: false, wholeWord: false, regexp: false };

export const lastFindOptions = (): FindOptions => lastOptions;

// The effects that change the query or the text that it is limited to.
export function changeFind(
  state: EditorState,
  change: Partial<FindOptions> & { scope?: readonly { from: number; to: number }[] | null },
): StateEffect<unknown>[] {
  const { scope, ...options } = change;
  lastOptions = { ...optionsOf(state), ...options };
  const limited = scope === undefined ? isLimited(state) : scope !== null;
  const query = new SearchQuery({
    ...lastOptions,
    // Only regular expressions know escapes such as \n.
    literal: !lastOptions.regexp,
    ...(limited ? { test: isInScope } : {}),
  });
  return [...(scope === undefined ? [] : [setScope.of(scope)]), setSearchQuery.of(query)];
}
