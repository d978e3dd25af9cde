import type { Text } from "@codemirror/state";

// The change from one text to another that replaces only the differing part.
export function smallestChange(before: Text, after: Text): { from: number; to: number; insert: Text } {
  const [left, right] = [before.toString(), after.toString()];
  const limit = Math.min(left.length, right.length);
  let start = 0;
  while (start < limit && left.charCodeAt(start) === right.charCodeAt(start)) start++;
  let end = 0;
  while (end < limit - start && left.charCodeAt(left.length - 1 - end) === right.charCodeAt(right.length - 1 - end)) end++;
  return { from: start, to: left.length - end, insert: after.slice(start, right.length - end) };
}

// The offset of a position, which a server may place after the end of a line or of the text.
export function offsetAt(doc: Text, { line, character }: { line: number; character: number }): number {
  if (line >= doc.lines) return doc.length;
  const { from, to } = doc.line(line + 1);
  return Math.min(from + character, to);
}
