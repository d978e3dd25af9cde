import type { SearchQuery } from "@codemirror/search";
import type { EditorState } from "@codemirror/state";

export interface MatchCount {
  // Where the matches start and end, in order.
  matches: { from: number; to: number }[];
  // There are more matches than these.
  more: boolean;
}

export const MAX_COUNTED = 1000;
// A text that is searched at once. One megabyte takes some 50 ms.
const WINDOW_CHARS = 100_000;

// Counts in steps, so that the caller can pause between them. Yields until the result is complete.
export function* countMatches(query: SearchQuery, state: EditorState): Generator<void, MatchCount> {
  const matches: { from: number; to: number }[] = [];
  const { length } = state.doc;
  for (let start = 0; start <= length;) {
    const end = endOfWindow(query, state, start);
    const cursor = query.getCursor(state, start, end);
    for (let next = cursor.next(); next.done !== true; next = cursor.next()) {
      if (matches.length === MAX_COUNTED) return { matches, more: true };
      matches.push({ from: next.value.from, to: next.value.to });
    }
    if (end === length) break;
    start = startOfNextWindow(query, end, matches.at(-1)?.to ?? 0);
    yield;
  }
  return { matches, more: false };
}

// A regular expression is matched line by line, unless it may span lines.
function endOfWindow(query: SearchQuery, { doc }: EditorState, start: number): number {
  if (query.regexp && SPANS_LINES.test(query.search)) return doc.length;
  const end = Math.min(doc.length, start + Math.max(WINDOW_CHARS, 8 * query.search.length));
  return query.regexp ? doc.lineAt(end).to : end;
}

const SPANS_LINES = /\\[sWDnr]|\n|\[\^|\(\?[^:]/;

// A match of plain text may start in one window and end in the next. Normalised characters can be longer than the typed ones.
const startOfNextWindow = (query: SearchQuery, end: number, lastMatchEnd: number): number =>
  query.regexp ? end + 1 : Math.max(lastMatchEnd, end - 4 * query.search.length);

// "3 of 17" for the selected match, else "17 results".
export function formatCount({ matches, more }: MatchCount, selection: { from: number; to: number }): string {
  if (matches.length === 0) return "No results";
  const total = more ? `${MAX_COUNTED.toLocaleString("en")}+` : matches.length.toLocaleString("en");
  const at = matches.findIndex(({ from, to }) => from === selection.from && to === selection.to);
  if (at >= 0) return `${(at + 1).toLocaleString("en")} of ${total}`;
  return matches.length === 1 ? "1 result" : `${total} results`;
}
