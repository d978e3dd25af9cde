import { matchLetters, startsWord } from "@berth/contract/matching/fuzzy.ts";

// How well a query matches a text; null if it does not. Adjacent letters and letters at the start of a word score higher.
export function fuzzyScore(query: string, text: string): number | null {
  const positions = matchLetters(query, text);
  if (!positions) return null;
  let score = 0;
  let previous = -1;
  for (const position of positions) {
    score += 1 + (position === previous + 1 ? 3 : 0) + (startsWord(text, position) ? 2 : 0);
    previous = position;
  }
  return score - text.length / 100;
}

export function fuzzyFilter<T>(items: readonly T[], query: string, textOf: (item: T) => string): T[] {
  if (query.trim() === "") return [...items];
  return items
    .map((item) => ({ item, score: fuzzyScore(query, textOf(item)) }))
    .filter((scored): scored is { item: T; score: number } => scored.score !== null)
    .toSorted((a, b) => b.score - a.score)
    .map(({ item }) => item);
}
