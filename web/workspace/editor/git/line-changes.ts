import { ChangeSet, StateEffect, StateField, Text as DocumentText, type EditorState, type TransactionSpec } from "@codemirror/state";
import { diffLines } from "./line-diff.ts";

// Whole lines of the original (A) that were replaced by whole lines of the text (B). The end of a range is behind its last line
// break, or one behind the text.
export interface Chunk {
  readonly fromA: number;
  readonly toA: number;
  readonly fromB: number;
  readonly toB: number;
}

// The text that the editor's text is compared with, and where they differ.
export interface LineChanges {
  original: DocumentText;
  chunks: readonly Chunk[];
  // The chunk whose difference is shown between the lines.
  opened: Chunk | null;
}

// Null: there is nothing to compare with, for example because the file is new.
export const setOriginal = StateEffect.define<DocumentText | null>();
export const openChunk = StateEffect.define<Chunk | null>();

export const lineChanges = StateField.define<LineChanges | null>({
  create: () => null,
  update(value, { docChanged, changes, newDoc, effects }) {
    let next = value;
    if (docChanged && next) {
      const chunks = findChunks(next.original, newDoc);
      const place = next.opened === null ? -1 : changes.mapPos(Math.min(next.opened.fromB, changes.length));
      next = { ...next, chunks, opened: chunks.find((chunk) => touches(chunk, place)) ?? null };
    }
    for (const effect of effects) {
      if (effect.is(setOriginal)) next = effect.value && compare(effect.value, newDoc, next?.opened ?? null);
      else if (effect.is(openChunk) && next) next = { ...next, opened: effect.value };
    }
    return next;
  },
});

function compare(original: DocumentText, text: DocumentText, opened: Chunk | null): LineChanges {
  const chunks = findChunks(original, text);
  return { original, chunks, opened: (opened && chunks.find((chunk) => touches(chunk, opened.fromB))) ?? null };
}

function findChunks(original: DocumentText, text: DocumentText): Chunk[] {
  return diffLines(linesOf(original), linesOf(text)).map(({ fromA, toA, fromB, toB }) => ({
    fromA: positionOf(original, fromA),
    toA: positionOf(original, toA),
    fromB: positionOf(text, fromB),
    toB: positionOf(text, toB),
  }));
}

const linesOf = (text: DocumentText): string[] => [...text.iterLines()];
const positionOf = (text: DocumentText, line: number): number => (line < text.lines ? text.line(line + 1).from : text.length + 1);

const touches = (chunk: Chunk, place: number) => chunk.fromB <= place && place <= chunk.toB;

// The change that a line belongs to. Removed lines belong to the line below them.
export function chunkAt({ chunks }: LineChanges, lineFrom: number, doc: DocumentText): Chunk | null {
  let [low, high] = [0, chunks.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const chunk = chunks[middle];
    if (!chunk) return null;
    const from = lineStart(chunk, doc);
    if (lineFrom < from) high = middle - 1;
    else if (lineFrom >= Math.max(chunk.toB, from + 1)) low = middle + 1;
    else return chunk;
  }
  return null;
}

// Lines that were removed at the end belong to the last line.
export const lineStart = (chunk: Chunk, doc: DocumentText): number => doc.lineAt(Math.min(chunk.fromB, doc.length)).from;

export const kindOf = ({ fromA, toA, fromB, toB }: Chunk): "added" | "removed" | "changed" =>
  fromA === toA ? "added" : fromB === toB ? "removed" : "changed";

const LINE_BREAK = DocumentText.of(["", ""]);

// Restores the original lines.
export function revertChange({ doc }: EditorState, { original }: LineChanges, { fromA, toA, fromB, toB }: Chunk): TransactionSpec {
  return { changes: replacement(original, { from: fromA, to: toA }, doc, { from: fromB, to: toB }), userEvent: "revert" };
}

// The original with the lines of one change.
export function applyChange({ doc }: EditorState, { original }: LineChanges, { fromA, toA, fromB, toB }: Chunk): DocumentText {
  return ChangeSet.of(replacement(doc, { from: fromB, to: toB }, original, { from: fromA, to: toA }), original.length).apply(original);
}

interface Range {
  from: number;
  to: number;
}

// Replaces whole lines of `target` by whole lines of `source`.
function replacement(
  source: DocumentText,
  taken: Range,
  target: DocumentText,
  replaced: Range,
): { from: number; to: number; insert: DocumentText } {
  const lines = source.slice(taken.from, Math.max(taken.from, taken.to - 1));
  const isEmpty = taken.from === taken.to;
  if (replaced.to <= target.length) return { from: replaced.from, to: replaced.to, insert: isEmpty ? lines : lines.append(LINE_BREAK) };
  // The last line ends without a line break, so the one before the range belongs to it.
  const from = Math.max(0, replaced.from - 1);
  return { from, to: target.length, insert: isEmpty || replaced.from === 0 ? lines : LINE_BREAK.append(lines) };
}
