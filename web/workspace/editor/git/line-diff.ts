import { diff } from "@codemirror/merge";

// Lines of a text that were replaced by lines of another one. The end is the first line behind the range.
export interface LineDifference {
  fromA: number;
  toA: number;
  fromB: number;
  toB: number;
}

// Very different texts are compared less precisely, so that typing stays fast.
const LIMITS = { scanLimit: 500, timeout: 100 };
// The code units that are no half of a surrogate pair: the comparison does not split pairs.
const MAX_DISTINCT_LINES = 0xd800;

// Compares whole lines: each distinct line becomes one character of a string. `Chunk.build` compares characters and widens the
// result to lines, which leaves an empty chunk where one of several blank lines was removed.
export function diffLines(a: readonly string[], b: readonly string[]): LineDifference[] {
  const start = countEqual(a, b, (lines, i) => lines[i], Math.min(a.length, b.length));
  const end = countEqual(a, b, (lines, i) => lines[lines.length - 1 - i], Math.min(a.length, b.length) - start);
  const [middleA, middleB] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  if (middleA.length === 0 && middleB.length === 0) return [];
  const codes = new Map<string, number>();
  const [textA, textB] = [encode(middleA, codes), encode(middleB, codes)];
  if (codes.size > MAX_DISTINCT_LINES) return [{ fromA: start, toA: a.length - end, fromB: start, toB: b.length - end }];
  return diff(textA, textB, LIMITS).map(({ fromA, toA, fromB, toB }) => ({
    fromA: start + fromA,
    toA: start + toA,
    fromB: start + fromB,
    toB: start + toB,
  }));
}

type LineAt = (lines: readonly string[], i: number) => string | undefined;

function countEqual(a: readonly string[], b: readonly string[], lineAt: LineAt, max: number): number {
  let count = 0;
  while (count < max && lineAt(a, count) === lineAt(b, count)) count++;
  return count;
}

function encode(lines: readonly string[], codes: Map<string, number>): string {
  const text: string[] = [];
  for (const line of lines) {
    const code = codes.get(line) ?? codes.size;
    codes.set(line, code);
    text.push(String.fromCharCode(code));
  }
  return text.join("");
}
