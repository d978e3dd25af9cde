export interface DiffLine {
  kind: "added" | "removed" | "same" | "gap";
  text: string;
}

const CONTEXT = 2;
// Above this the table of common lines would be too large; the changed middle is then shown as replaced.
const MAX_CELLS = 400_000;

// The lines that differ, with a little around them: enough to see an edit at a glance.
export function shortDiff(before: string, after: string): DiffLine[] {
  const [a, b] = [splitLines(before), splitLines(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const middle = diffLines(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const all = [...a.slice(0, start).map(same), ...middle, ...a.slice(a.length - end).map(same)];
  return withoutFarLines(all);
}

export const countLines = (lines: DiffLine[]) => ({
  added: lines.filter(({ kind }) => kind === "added").length,
  removed: lines.filter(({ kind }) => kind === "removed").length,
});

const splitLines = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
const same = (text: string): DiffLine => ({ kind: "same", text });

// The longest common subsequence of lines, by the usual table.
function diffLines(a: string[], b: string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: "removed", text });
  const added = (text: string): DiffLine => ({ kind: "added", text });
  if (a.length * b.length > MAX_CELLS) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(same(a[i++] ?? ""));
      j++;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) lines.push(removed(a[i++] ?? ""));
    else lines.push(added(b[j++] ?? ""));
  }
  return lines;
}

function withoutFarLines(lines: DiffLine[]): DiffLine[] {
  const near = lines.map((_line, at) => lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ kind }) => kind !== "same"));
  const kept: DiffLine[] = [];
  lines.forEach((line, at) => {
    if (near[at]) kept.push(line);
    else if (kept.at(-1)?.kind !== "gap" && kept.length > 0) kept.push({ kind: "gap", text: "" });
  });
  return kept.at(-1)?.kind === "gap" ? kept.slice(0, -1) : kept;
}
