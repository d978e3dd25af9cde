import { isUtf8 } from "node:buffer";
import { diffLines, type Range } from "./line-diff.ts";

// A text before and after a turn. Every line is a string of the file's own units with its line end, so joining the lines gives the
// same bytes again, whatever the encoding.
export interface TextChange {
  unit: Unit;
  before: string[];
  after: string[];
  hunks: Hunk[];
}

// Changes close to each other. A person decides about all of them together.
export type Hunk = Range;

// UTF-16 has line ends of two bytes. In all other texts the bytes are the units, and only their display needs the encoding.
type Unit = "bytes" | "utf16le" | "utf16be";

// Changes with fewer lines between them are one hunk.
export const CONTEXT_LINES = 2;
const PROBE_BYTES = 8192;

// null unless both are texts of the same kind. An absent file is an empty text.
export function compareTexts(before: Buffer | null, after: Buffer | null): TextChange | null {
  const units = [before, after].flatMap((bytes) => (bytes && bytes.length > 0 ? [unitOf(bytes)] : []));
  const unit = units[0] ?? "bytes";
  if (unit === null || units.some((other) => other !== unit)) return null;
  const [from, to] = [linesOf(before, unit), linesOf(after, unit)];
  return { unit, before: from, after: to, hunks: toHunks(diffLines(from, to)) };
}

// The text with some hunks as they were before the turn. `reverted` has their indexes.
export function textWith({ before, after, hunks }: TextChange, reverted: ReadonlySet<number>): string[] {
  const parts: string[][] = [];
  let from = 0;
  for (const [index, hunk] of hunks.entries()) {
    parts.push(after.slice(from, hunk.after[0]), reverted.has(index) ? before.slice(...hunk.before) : after.slice(...hunk.after));
    from = hunk.after[1];
  }
  return [...parts, after.slice(from)].flat();
}

export interface Revision {
  // `reverted` are the hunks that a person has rejected so far, and `wanted` those to reject from now on.
  reverted: ReadonlySet<number>;
  wanted: ReadonlySet<number>;
}

// Changes only the hunks of a revision in the present text of the file, which may have changed elsewhere. Returns the hunks that
// have changed since the turn instead, if there are any.
export function revise(change: TextChange, { reverted, wanted }: Revision, present: Buffer): { bytes: Buffer } | { conflicts: number[] } {
  // A restore may have done it already.
  if (toBytes(textWith(change, wanted), change.unit).equals(present)) return { bytes: present };
  if (present.length > 0 && unitOf(present) !== change.unit) return { conflicts: [...wanted].filter((index) => !reverted.has(index)) };
  const expected = textWith(change, reverted);
  const lines = linesOf(present, change.unit);
  const later = diffLines(expected, lines);
  const conflicts: number[] = [];
  const splices: { from: number; count: number; lines: string[] }[] = [];
  let place = 0;
  let from = 0;
  for (const [index, hunk] of change.hunks.entries()) {
    place += hunk.after[0] - from;
    from = hunk.after[1];
    const old = reverted.has(index) ? change.before.slice(...hunk.before) : change.after.slice(...hunk.after);
    const next = wanted.has(index) ? change.before.slice(...hunk.before) : change.after.slice(...hunk.after);
    const [start, end] = [place, place + old.length];
    place = end;
    if (reverted.has(index) === wanted.has(index)) continue;
    if (later.some(({ before }) => before[0] <= end && before[1] >= start)) conflicts.push(index);
    else splices.push({ from: start + shiftAt(later, start), count: old.length, lines: next });
  }
  if (conflicts.length > 0) return { conflicts };
  for (const splice of splices.toReversed()) lines.splice(splice.from, splice.count, ...splice.lines);
  return { bytes: toBytes(lines, change.unit) };
}

// How far later changes have moved a line.
const shiftAt = (later: Range[], line: number): number =>
  later
    .filter(({ before }) => before[1] <= line)
    .reduce((sum, { before, after }) => sum + (after[1] - after[0]) - (before[1] - before[0]), 0);

export function toBytes(lines: string[], unit: Unit): Buffer {
  if (unit === "bytes") return Buffer.from(lines.join(""), "latin1");
  const bytes = Buffer.from(lines.join(""), "utf16le");
  return unit === "utf16be" ? bytes.swap16() : bytes;
}

function linesOf(bytes: Buffer | null, unit: Unit): string[] {
  if (bytes === null) return [];
  const text = unit === "bytes" ? bytes.toString("latin1") : (unit === "utf16be" ? Buffer.from(bytes).swap16() : bytes).toString("utf16le");
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

// null for what is not a text.
function unitOf(bytes: Buffer): Unit | null {
  const isWide = bytes.length % 2 === 0;
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return isWide ? "utf16le" : null;
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return isWide ? "utf16be" : null;
  return bytes.subarray(0, PROBE_BYTES).includes(0) ? null : "bytes";
}

function toHunks(ranges: Range[]): Hunk[] {
  const hunks: Hunk[] = [];
  for (const range of ranges) {
    const last = hunks.at(-1);
    if (last && range.after[0] - last.after[1] <= 2 * CONTEXT_LINES) {
      last.before[1] = range.before[1];
      last.after[1] = range.after[1];
    } else hunks.push(range);
  }
  return hunks;
}

// Turns the lines of a text into something to read: without line ends and in its encoding.
export function lineReader({ unit, before, after }: TextChange): (line: string) => string {
  if (unit !== "bytes") return (line) => line.replace(/^\uFEFF/, "");
  const isText = isUtf8(toBytes(before, unit)) && isUtf8(toBytes(after, unit));
  const decoder = new TextDecoder(isText ? "utf-8" : "windows-1252");
  return (line) => decoder.decode(Buffer.from(line, "latin1"));
}
