import { diff } from "@codemirror/merge";

export interface DiffLine {
  kind: "added" | "removed" | "same" | "gap";
  text: string;
}

const CONTEXT_LINES = 2;
// Bounds the work on very different texts, for which the library then finds a coarser diff.
const SCAN_LIMIT = 500;
// UTF-16 code units below the surrogates, which the library does not separate.
const MAX_DISTINCT_LINES = 0xd800;

// The lines that differ, with a few lines of context.
export function shortDiff(before: string, after: string): DiffLine[] {
  return withoutFarLines(diffLines(splitLines(before), splitLines(after)));
}

export const countLines = (lines: DiffLine[]) => ({
  added: lines.filter(({ kind }) => kind === "added").length,
  removed: lines.filter(({ kind }) => kind === "removed").length,
});

const splitLines = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

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
