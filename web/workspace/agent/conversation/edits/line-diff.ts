import { diff } from "@codemirror/merge";

export interface DiffLine {
  kind: "added" | "removed" | "same";
  text: string;
}

// Changes close to each other, with a few lines of context.
export interface Hunk {
  lines: DiffLine[];
  // The index of its first line in the text after the change.
  start: number;
}

const CONTEXT_LINES = 2;
// Bounds the work on very different texts, for which the library then finds a coarser diff.
const SCAN_LIMIT = 500;
// UTF-16 code units below the surrogates, which the library does not separate.
const MAX_DISTINCT_LINES = 0xd800;

export function hunksOf(before: string, after: string): Hunk[] {
  const lines = diffLines(splitLines(before), splitLines(after));
  const hunks: Hunk[] = [];
  let place = 0;
  let growing: Hunk | null = null;
  lines.forEach((line, at) => {
    const isNear = lines.slice(Math.max(0, at - CONTEXT_LINES), at + CONTEXT_LINES + 1).some(({ kind }) => kind !== "same");
    if (!isNear) growing = null;
    else if (growing) growing.lines.push(line);
    else hunks.push((growing = { lines: [line], start: place }));
    if (line.kind !== "removed") place++;
  });
  return hunks;
}

export const linesBefore = ({ lines }: Hunk): string[] => lines.filter(({ kind }) => kind !== "added").map(({ text }) => text);
export const linesAfter = ({ lines }: Hunk): string[] => lines.filter(({ kind }) => kind !== "removed").map(({ text }) => text);

export function countLines(hunks: Hunk[]): { added: number; removed: number } {
  const count = (wanted: DiffLine["kind"]) => hunks.flatMap(({ lines }) => lines).filter(({ kind }) => kind === wanted).length;
  return { added: count("added"), removed: count("removed") };
}

export const splitLines = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

// The library compares characters, so each distinct line becomes one character.
function diffLines(before: string[], after: string[]): DiffLine[] {
  const codes = new Map([...new Set([...before, ...after])].map((line, code) => [line, String.fromCharCode(code)]));
  if (codes.size > MAX_DISTINCT_LINES) return [...toDiffLines("removed", before), ...toDiffLines("added", after)];
  const encode = (lines: string[]) => lines.map((line) => codes.get(line)).join("");
  const parts: DiffLine[][] = [];
  let shown = 0;
  for (const { fromA, toA, fromB, toB } of diff(encode(before), encode(after), { scanLimit: SCAN_LIMIT })) {
    parts.push(toDiffLines("same", before.slice(shown, fromA)));
    parts.push(toDiffLines("removed", before.slice(fromA, toA)), toDiffLines("added", after.slice(fromB, toB)));
    shown = toA;
  }
  return [...parts.flat(), ...toDiffLines("same", before.slice(shown))];
}

const toDiffLines = (kind: DiffLine["kind"], lines: string[]): DiffLine[] => lines.map((text) => ({ kind, text }));
