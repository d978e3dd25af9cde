import { fuzzyFilter } from "./fuzzy.ts";

export interface FilesToOrder {
  query: string;
  // The result of the last search, and whether it is the one for this query.
  found: readonly string[];
  isAnswered: boolean;
  // The open files and those that were open last.
  recent: readonly string[];
  // The file on screen.
  shown: string | null;
}

// Recent files that match come first, then the others in the order of the search. Until the search has answered, the page matches
// the files that it knows. Without a query, the file on screen comes after the other recent ones.
export function orderFiles({ query, found, isAnswered, recent, shown }: FilesToOrder): string[] {
  if (query === "") {
    const elsewhere = recent.filter((path) => path !== shown);
    return [...new Set([...elsewhere, ...(shown === null ? [] : [shown]), ...found])];
  }
  const matching = fuzzyFilter(recent, query, String);
  if (!isAnswered) return [...new Set([...matching, ...fuzzyFilter(found, query, String)])];
  const existing = new Set(found);
  return [...new Set([...matching.filter((path) => existing.has(path)), ...found])];
}
