import { useEffect, useState } from "react";
import type { SearchQuery } from "../connection/api.ts";
import { useWorkspace } from "../state/context.ts";
import { describeError } from "../state/page/notices.ts";

export interface Match {
  line: number;
  column: number;
  length: number;
  text: string;
}

export interface FileMatches {
  path: string;
  matches: Match[];
}

export interface SearchResult {
  files: FileMatches[];
  summary: string;
  error: string | null;
}

const LIMIT = 2000;
const empty: SearchResult = { files: [], summary: "", error: null };

// Searches as the person types. A new query cancels the one before. Matches appear in batches as they arrive.
export function useSearch({ text, regex, matchCase, word, include }: SearchQuery): SearchResult {
  const { api } = useWorkspace();
  const [result, setResult] = useState(empty);
  useEffect(() => {
    if (text === "") return setResult(empty);
    const aborter = new AbortController();
    const timer = setTimeout(() => void run(), 200);
    return () => {
      clearTimeout(timer);
      aborter.abort();
    };

    async function run(): Promise<void> {
      const files = new Map<string, Match[]>();
      const shown = (summary: string): SearchResult => ({
        files: [...files].map(([path, matches]) => ({ path, matches })),
        summary,
        error: null,
      });
      setResult({ ...empty, summary: "Searching…" });
      let drawnAtMs = performance.now();
      try {
        const query = { text, limit: LIMIT, ...withoutUndefined({ regex, matchCase, word, include }) };
        for await (const event of api.search(query, aborter.signal)) {
          if (event.type === "done") return setResult(shown(summarise(event)));
          const { path, ...match } = event;
          const matches = files.get(path);
          if (matches) matches.push(match);
          else files.set(path, [match]);
          if (performance.now() - drawnAtMs < 100) continue;
          drawnAtMs = performance.now();
          setResult(shown("Searching…"));
        }
      } catch (error) {
        if (!aborter.signal.aborted) setResult({ ...empty, error: describeError(error) });
      }
    }
  }, [api, text, regex, matchCase, word, include]);
  return result;
}

function summarise({ matches, files, truncated }: { matches: number; files: number; truncated: boolean }): string {
  if (matches === 0) return "No results";
  const found = `${matches} ${matches === 1 ? "match" : "matches"} in ${files} ${files === 1 ? "file" : "files"}`;
  return truncated ? `${found}. There are more; narrow the search` : found;
}

const withoutUndefined = (options: Partial<SearchQuery>): Partial<SearchQuery> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
