// A conflict that a merge left in a text, by the lines of its markers. Lines count from 1.
export interface Conflict {
  start: number;
  // The text before both changes, which Git writes only if it is configured to.
  base: number | null;
  separator: number;
  end: number;
}

// Markers that do not form a whole conflict are text.
export function findConflicts(lines: Iterable<string>): Conflict[] {
  const found: Conflict[] = [];
  let begun: { start: number; base: number | null; separator: number | null } | null = null;
  let number = 0;
  for (const line of lines) {
    number++;
    const marker = markerOf(line);
    if (marker === "<") begun = { start: number, base: null, separator: null };
    else if (begun === null || marker === null) continue;
    else if (marker === "|" && begun.separator === null) begun.base ??= number;
    else if (marker === "=" && begun.separator === null) begun.separator = number;
    else if (marker === ">" && begun.separator !== null) {
      found.push({ start: begun.start, base: begun.base, separator: begun.separator, end: number });
      begun = null;
    }
  }
  return found;
}

// Seven equal characters, with a name behind them except in the middle.
export const markerOf = (line: string): string | null =>
  /^(?:([<>|])\1{6}(?: |\r?$)|(=)={6}\r?$)/.exec(line)?.slice(1).find(Boolean) ?? null;
