import { type Hunk, hunksOf, linesAfter, linesBefore, splitLines } from "./line-diff.ts";

export interface Edit {
  oldText: string | null;
  newText: string;
  review?: Record<number, "accepted" | "rejected">;
}

// The present text of a file without some hunks of an edit; null if they cannot be found in it. The file may have changed since the
// edit, and the edit may cover only a part of the file.
export function withoutHunks(text: string, { oldText, newText, review = {} }: Edit, rejected: readonly number[]): string | null {
  const hunks = hunksOf(oldText ?? "", newText);
  const before = hunks.filter((_hunk, index) => review[index] === "rejected");
  const chosen = hunks.filter((hunk, index) => rejected.includes(index) && !before.includes(hunk));
  const lines = splitLines(text);
  const expected = revert(splitLines(newText), before);
  const isExpected = lines.length === expected.length && lines.every((line, index) => line === expected[index]);
  const next = isExpected ? revert(splitLines(newText), [...before, ...chosen]) : revertFound(lines, chosen);
  if (next === null) return null;
  const endsWithNewline = (text === "" ? (oldText ?? "") : text).endsWith("\n");
  return next.length === 0 ? "" : next.join("\n") + (endsWithNewline ? "\n" : "");
}

function revert(lines: string[], hunks: Hunk[]): string[] {
  const result = [...lines];
  for (const hunk of hunks.toSorted((a, b) => b.start - a.start)) result.splice(hunk.start, linesAfter(hunk).length, ...linesBefore(hunk));
  return result;
}

// Finds each hunk by its lines. A hunk that occurs twice, or not at all, could be anywhere.
function revertFound(lines: string[], hunks: Hunk[]): string[] | null {
  const result = [...lines];
  for (const hunk of hunks) {
    const wanted = linesAfter(hunk);
    const places = placesOf(result, wanted);
    if (wanted.length === 0 || places.length !== 1) return null;
    result.splice(places[0]!, wanted.length, ...linesBefore(hunk));
  }
  return result;
}

function placesOf(lines: string[], wanted: string[]): number[] {
  const places: number[] = [];
  for (let at = 0; at + wanted.length <= lines.length; at++) if (wanted.every((line, index) => lines[at + index] === line)) places.push(at);
  return places;
}
