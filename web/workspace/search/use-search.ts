import { useEffect, useState } from "react";
import type { SearchQuery } from "../connection/api.ts";
import { useWorkspace } from "../state/context.ts";
import { plainWords } from "../state/page/notices.ts";

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
  fault: string | null;
}

const LIMIT = 2000;
const nothing: SearchResult = { files: [], summary: "", fault: null };

// Searches while one types: each new query ends the one before. Matches are shown as they arrive, some at a time.
export function useSearch({ text, regex, matchCase, word, include }: SearchQuery): SearchResult {
  const { api } = useWorkspace();
  const [result, setResult] = useState(nothing);
  useEffect(() => {
    if (text === "") return setResult(nothing);
    const stop = new AbortController();
    const timer = setTimeout(() => void run(), 200);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };

    async function run(): Promise<void> {
      const files = new Map<string, Match[]>();
      const shown = (summary: string): SearchResult => ({
        files: [...files].map(([path, matches]) => ({ path, matches })),
        summary,
        fault: null,
      });
      setResult({ ...nothing, summary: "Searching…" });
      let drawnAtMs = performance.now();
      try {
        const query = { text, limit: LIMIT, ...clean({ regex, matchCase, word, include }) };
        for await (const event of api.search(query, stop.signal)) {
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
        if (!stop.signal.aborted) setResult({ ...nothing, fault: plainWords(error) });
      }
    }
  }, [api, text, regex, matchCase, word, include]);
  return result;
}

function summarise({ matches, files, truncated }: { matches: number; files: number; truncated: boolean }): string {
  if (matches === 0) return "Nothing found";
  const found = `${matches} ${matches === 1 ? "match" : "matches"} in ${files} ${files === 1 ? "file" : "files"}`;
  return truncated ? `${found}; there are more` : found;
}

const clean = (options: Partial<SearchQuery>): Partial<SearchQuery> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
