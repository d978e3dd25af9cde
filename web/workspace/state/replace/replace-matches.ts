export interface ReplaceQuery {
  text: string;
  replacement: string;
  matchCase: boolean;
  word: boolean;
  regex: boolean;
}

// A place that a search has found. Lines and columns count from 1.
export interface Place {
  line: number;
  column: number;
  length: number;
}

export interface Replaced {
  text: string;
  count: number;
  // Places where the text does not match any more.
  missed: number;
}

// Replaces the matches at the given places. A place whose text has changed since the search is left as it is.
export function replaceMatches(text: string, places: readonly Place[], query: ReplaceQuery): Replaced {
  const lineStarts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lineStarts.push(at + 1);
  const ordered = places.toSorted((a, b) => a.line - b.line || a.column - b.column);
  let result = "";
  let copiedTo = 0;
  let count = 0;
  for (const { line, column, length } of ordered) {
    const lineStart = lineStarts[line - 1];
    const lineEnd = lineStarts[line] ?? text.length;
    const start = (lineStart ?? 0) + column - 1;
    if (lineStart === undefined || start < copiedTo || start + length > lineEnd) continue;
    const inserted = replacementAt(text.slice(lineStart, lineEnd).replace(/\r?\n$/, ""), column - 1, length, query);
    if (inserted === null) continue;
    result += text.slice(copiedTo, start) + inserted;
    copiedTo = start + length;
    count++;
  }
  return { text: result + text.slice(copiedTo), count, missed: places.length - count };
}

// The text that replaces a match in a line, or null if the line does not match there.
export function replacementAt(line: string, start: number, length: number, query: ReplaceQuery): string | null {
  const pattern = patternOf(query);
  if (pattern === null) return null;
  pattern.lastIndex = start;
  const match = pattern.exec(line);
  if (match === null || match[0].length !== length) return null;
  return query.regex ? expand(query.replacement, match) : query.replacement;
}

// The search runs in the sandbox with another engine, so each match is checked again here.
function patternOf({ text, matchCase, word, regex }: ReplaceQuery): RegExp | null {
  const source = regex ? text : text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const wanted = word ? `(?<![\\p{L}\\p{N}_])(?:${source})(?![\\p{L}\\p{N}_])` : source;
  for (const flags of ["yu", "y"]) {
    try {
      return new RegExp(wanted, matchCase ? flags : `${flags}i`);
    } catch {
      // Older expressions are valid only without the flag `u`.
    }
  }
  return null;
}

// `$1` is a group, `$&` the whole match, `$$` a dollar sign; `\n` and `\t` are a new line and a tab.
function expand(replacement: string, match: RegExpExecArray): string {
  return replacement.replace(/\$(\$|&|\d{1,2})|\\(n|t|\\)/g, (whole, reference: string | undefined, escaped: string | undefined) => {
    if (escaped !== undefined) return { n: "\n", t: "\t" }[escaped] ?? "\\";
    if (reference === "$") return "$";
    if (reference === "&") return match[0];
    const group = Number(reference);
    return group < match.length && group > 0 ? (match[group] ?? "") : whole;
  });
}
