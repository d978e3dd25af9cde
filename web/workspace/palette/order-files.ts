import { fuzzyFilter } from "./fuzzy.ts";

// Recent files that match come first, then the others in the order of the search. Without a query, the file on screen comes
// after the other recent ones.
export function orderFiles(query: string, found: readonly string[], recent: readonly string[], shown: string | null): string[] {
  if (query === "") {
    const elsewhere = recent.filter((path) => path !== shown);
    return [...new Set([...elsewhere, ...(shown === null ? [] : [shown]), ...found])];
  }
  const known = new Set(found);
  return [
    ...new Set([
      ...fuzzyFilter(
        recent.filter((path) => known.has(path)),
        query,
        String,
      ),
      ...found,
    ]),
  ];
}
