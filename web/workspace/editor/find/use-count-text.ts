import { getSearchQuery, type SearchQuery } from "@codemirror/search";
import type { EditorState } from "@codemirror/state";
import { useEffect, useState } from "react";
import { countMatches, formatCount, type MatchCount } from "./count-matches.ts";
import { findState } from "./find-state.ts";

const DEBOUNCE_MS = 60;
// Short enough to leave keystrokes unhindered.
const SLICE_MS = 8;

// How many matches there are and which one is selected, or "" while nothing is known.
export function useCountText(state: EditorState): string {
  const [count, setCount] = useState<(MatchCount & { query: SearchQuery }) | null>(null);
  const query = getSearchQuery(state);
  const { scope } = state.field(findState);
  const { doc } = state;

  useEffect(() => {
    if (!query.valid) return setCount(null);
    const counting = countMatches(query, state);
    let timer = setTimeout(work, DEBOUNCE_MS);
    function work(): void {
      const until = performance.now() + SLICE_MS;
      do {
        const { done, value } = counting.next();
        if (done === true) return setCount({ ...value, query });
      } while (performance.now() < until);
      timer = setTimeout(work);
    }
    return () => clearTimeout(timer);
    // The rest of the state, such as the selection, does not change the matches.
  }, [query, doc, scope]);

  return count && query.valid ? formatCount(count, state.selection.main) : "";
}
