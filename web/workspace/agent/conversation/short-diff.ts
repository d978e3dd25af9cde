import { Chunk } from "@codemirror/merge";
import { Text as DocumentText } from "@codemirror/state";

export interface DiffLine {
  kind: "added" | "removed" | "same" | "gap";
  text: string;
}

const CONTEXT_LINES = 2;
// Bounds the work on very different texts, for which the library then finds a coarser diff.
const SCAN_LIMIT = 500;

// The lines that differ, with a few lines of context.
export function shortDiff(before: string, after: string): DiffLine[] {
  return withoutFarLines(diffLines(splitLines(before), splitLines(after)));
}

export const countLines = (lines: DiffLine[]) => ({
  added: lines.filter(({ kind }) => kind === "added").length,
  removed: lines.filter(({ kind }) => kind === "removed").length,
});

const splitLines = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

function diffLines(before: string[], after: string[]): DiffLine[] {
  const toDiffLines = (kind: DiffLine["kind"], lines: string[]) => lines.map((text): DiffLine => ({ kind, text }));
  // The library has no text of zero lines.
  if (before.length === 0 || after.length === 0) return [...toDiffLines("removed", before), ...toDiffLines("added", after)];
  const [a, b] = [DocumentText.of(before), DocumentText.of(after)];
  const lines: DiffLine[] = [];
  let shownBefore = 0;
  for (const { fromA, toA, fromB, toB } of Chunk.build(a, b, { scanLimit: SCAN_LIMIT })) {
    const [startA, startB] = [linesBefore(a, fromA), linesBefore(b, fromB)];
    const [endA, endB] = [linesBefore(a, toA), linesBefore(b, toB)];
    lines.push(...toDiffLines("same", before.slice(shownBefore, startA)));
    lines.push(...toDiffLines("removed", before.slice(startA, endA)), ...toDiffLines("added", after.slice(startB, endB)));
    shownBefore = endA;
  }
  return [...lines, ...toDiffLines("same", before.slice(shownBefore))];
}

// Chunks begin at the start of a line and end after a line break, which may be one past the end of the text.
const linesBefore = (text: DocumentText, position: number): number =>
  position > text.length ? text.lines : text.lineAt(position).number - 1;

function withoutFarLines(lines: DiffLine[]): DiffLine[] {
  const near = lines.map((_line, at) =>
    lines.slice(Math.max(0, at - CONTEXT_LINES), at + CONTEXT_LINES + 1).some(({ kind }) => kind !== "same"),
  );
  const kept: DiffLine[] = [];
  lines.forEach((line, at) => {
    if (near[at]) kept.push(line);
    else if (kept.at(-1)?.kind !== "gap" && kept.length > 0) kept.push({ kind: "gap", text: "" });
  });
  return kept.at(-1)?.kind === "gap" ? kept.slice(0, -1) : kept;
}
