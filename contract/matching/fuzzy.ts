// The part of fuzzy matching that the daemon (quick open) and the workspace (command palette) share. Plain code, no
// imports: the browser loads this file too. Each caller weighs the positions in its own way.

// The positions in `text` of the letters of `query`, in order, ignoring case and spaces; null if a letter is missing.
export function matchLetters(query: string, text: string): number[] | null {
  const lower = text.toLowerCase();
  const positions: number[] = [];
  let last = -1;
  for (const letter of query.toLowerCase().replaceAll(" ", "")) {
    last = lower.indexOf(letter, last + 1);
    if (last === -1) return null;
    positions.push(last);
  }
  return positions;
}

export const startsWord = (text: string, position: number): boolean => position === 0 || /[\s/._-]/.test(text[position - 1] ?? "");
