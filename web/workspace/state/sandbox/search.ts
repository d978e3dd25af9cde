import { createStore } from "zustand/vanilla";
import type { SearchEvent } from "@berth/contract/daemon.ts";
import type { Api } from "../../connection/api.ts";
import { describeError } from "../page/notices.ts";

export interface Match {
  line: number;
  column: number;
  length: number;
  text: string;
}

export interface FileMatches {
  path: string;
  matches: Match[];
  // Whether the file has more matches than these.
  more: boolean;
}

export interface SearchForm {
  text: string;
  include: string;
  exclude: string;
  matchCase: boolean;
  word: boolean;
  regex: boolean;
}

export interface SearchState extends SearchForm {
  // Whether the panel offers to replace, and with what.
  replaceShown: boolean;
  replacement: string;
  files: FileMatches[];
  summary: string;
  error: string | null;
}

const LIMIT = 2000;
// So that one file with many matches leaves room for others.
const FILE_LIMIT = 100;
const DRAW_EVERY_MS = 100;

const noResult = { files: [], summary: "", error: null } satisfies Partial<SearchState>;

// The search in files: its query and its results, which outlive the panel. It runs as the person types; a new query cancels
// the one before.
export function createSearch(api: Pick<Api, "search">, debounceMs = 200) {
  const store = createStore<SearchState>(() => ({
    text: "",
    include: "",
    exclude: "",
    matchCase: false,
    word: false,
    regex: false,
    replaceShown: false,
    replacement: "",
    ...noResult,
  }));
  // The files and matches that the person left out of the results.
  const dismissed = new Set<string>();
  let aborter = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function edit(change: Partial<SearchForm>): void {
    store.setState(change);
    clearTimeout(timer);
    aborter.abort();
    if (store.getState().text === "") return store.setState(noResult);
    timer = setTimeout(() => void run(), debounceMs);
  }

  async function run(): Promise<void> {
    dismissed.clear();
    aborter = new AbortController();
    const { signal } = aborter;
    const found = new Map<string, FileMatches>();
    const show = (change: Partial<SearchState>) => store.setState({ files: [...found.values()], error: null, ...change });
    store.setState({ ...noResult, summary: "Searching…" });
    let drawnAtMs = performance.now();
    try {
      for await (const event of api.search({ ...query(), limit: LIMIT, fileLimit: FILE_LIMIT }, signal)) {
        if (signal.aborted) return;
        if (event.type === "failed") return show({ summary: "", error: event.message });
        if (event.type === "done") return show({ summary: summarise(event) });
        collect(found, event);
        if (performance.now() - drawnAtMs < DRAW_EVERY_MS) continue;
        drawnAtMs = performance.now();
        show({ summary: "Searching…" });
      }
    } catch (error) {
      if (!signal.aborted) store.setState({ ...noResult, error: describeError(error) });
    }
  }

  const query = () => {
    const { text, include, exclude, matchCase, word, regex } = store.getState();
    return { text, include, exclude, matchCase, word, regex };
  };

  return {
    store,
    edit,
    setReplacement: (replacement: string) => store.setState({ replacement }),
    showReplace: (replaceShown: boolean) => store.setState({ replaceShown }),
    // Leaves a file, or one match in it, out of the results and of a replacement.
    dismiss(path: string, match?: Match) {
      if (match) dismissed.add(keyOf(path, match));
      store.setState(({ files }) => ({
        files: files.flatMap((file) => {
          if (file.path !== path) return [file];
          const left = match ? file.matches.filter((each) => each !== match) : [];
          return left.length === 0 ? [] : [{ ...file, matches: left }];
        }),
      }));
    },
    // Reads all matches of one file.
    async loadMore(path: string) {
      const { signal } = aborter;
      const found = new Map<string, FileMatches>();
      try {
        for await (const event of api.search({ ...query(), file: path, limit: LIMIT }, signal)) {
          if (event.type === "match" || event.type === "more") collect(found, event);
          if (event.type === "done" && event.truncated) collect(found, { type: "more", path });
        }
      } catch (error) {
        if (!signal.aborted) store.setState({ error: describeError(error) });
        return;
      }
      const all = found.get(path);
      const complete = all && { ...all, matches: all.matches.filter((match) => !dismissed.has(keyOf(path, match))) };
      if (complete && !signal.aborted)
        store.setState(({ files }) => ({ files: files.map((file) => (file.path === path ? complete : file)) }));
    },
  };
}

const keyOf = (path: string, { line, column }: Match): string => `${line}:${column}:${path}`;

function collect(found: Map<string, FileMatches>, event: Extract<SearchEvent, { type: "match" | "more" }>): void {
  const { path } = event;
  const file = found.get(path) ?? { path, matches: [], more: false };
  found.set(path, file);
  if (event.type === "more") return void (file.more = true);
  const { line, column, length, text } = event;
  file.matches.push({ line, column, length, text });
}

function summarise({ matches, files, truncated }: { matches: number; files: number; truncated: boolean }): string {
  if (matches === 0) return "No results";
  const found = `${matches} ${matches === 1 ? "match" : "matches"} in ${files} ${files === 1 ? "file" : "files"}`;
  return truncated ? `${found}. There are more; narrow the search` : found;
}
