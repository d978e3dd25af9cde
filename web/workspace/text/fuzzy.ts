// How well a query fits a text: all its letters in order. Higher is better, null is not at all. Letters that stand
// together and at the beginning of words count more.
export function fuzzyScore(query: string, text: string): number | null {
  const wanted = query.toLowerCase().replaceAll(" ", "");
  const lower = text.toLowerCase();
  let score = 0;
  let at = -1;
  for (const letter of wanted) {
    const found = lower.indexOf(letter, at + 1);
    if (found < 0) return null;
    const together = found === at + 1 ? 3 : 0;
    const wordStart = found === 0 || /[\s/._-]/.test(lower[found - 1] ?? "") ? 2 : 0;
    score += 1 + together + wordStart;
    at = found;
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
