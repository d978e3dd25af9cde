export interface FileLink {
  // The position of the link in the text.
  start: number;
  length: number;
  path: string;
  line: number;
  column: number;
}

// Names of files with a line: `src/a.ts:12:5`, `src/a.ts(12,5)` and Python's `File "a.py", line 12`.
const PATTERNS = [
  /(?<path>(?:\.{0,2}\/)?[\w@+][\w.@+-]*(?:\/[\w.@+-]+)*):(?<line>\d{1,7})(?::(?<column>\d{1,5}))?(?![\w/.])/g,
  /(?<path>(?:\.{0,2}\/)?[\w@+][\w.@+-]*(?:\/[\w.@+-]+)*)\((?<line>\d{1,7})(?:,\s?(?<column>\d{1,5}))?\)/g,
  /File "(?<path>[^"<>]+)", line (?<line>\d{1,7})/g,
];

// The time of the search grows with the square of the length, and programs may write endless lines.
const MAX_LENGTH = 2000;

export function findFileLinks(text: string): FileLink[] {
  if (text.length > MAX_LENGTH) return [];
  const urls = [...text.matchAll(/[a-z]+:\/\/\S+/gi)].map(({ 0: url, index }) => ({ start: index, end: index + url.length }));
  const isPartOfMore = (at: number) => urls.some(({ start, end }) => start <= at && at < end) || /[\w:/.]/.test(text[at - 1] ?? "");
  return PATTERNS.flatMap((pattern) => [...text.matchAll(pattern)]).flatMap(({ 0: whole, index, groups = {} }) => {
    const { path = "", line, column } = groups;
    // Without an extension or a folder it is a host with a port, a time or a label.
    if (!/\/|\.[a-z]\w*$/i.test(path) || isPartOfMore(index)) return [];
    return [{ start: index, length: whole.length, path, line: Number(line), column: Number(column ?? 1) }];
  });
}

// Chooses the file that a program means by a path among files with the same name. A program may run in any folder and knows the
// workspace by its place in the sandbox, so the file with the longest common end is meant.
export function chooseFile(path: string, candidates: string[]): string | null {
  const wanted = path.split("/").filter((part) => part !== "" && part !== "." && part !== "..");
  const scored = candidates.map((candidate) => ({ candidate, common: commonEnd(wanted, candidate.split("/")) }));
  const whole = scored.filter(({ candidate, common }) => common === Math.min(wanted.length, candidate.split("/").length));
  return whole.toSorted((a, b) => b.common - a.common || a.candidate.length - b.candidate.length)[0]?.candidate ?? null;
}

function commonEnd(a: string[], b: string[]): number {
  let common = 0;
  while (common < a.length && common < b.length && a.at(-1 - common) === b.at(-1 - common)) common++;
  return common;
}
