export interface ParsedTable {
  rows: string[][];
  // Whether the text has more rows than the limit.
  truncated: boolean;
}

// Reads comma-separated values (RFC 4180): quotes may contain separators, line breaks and doubled quotes.
export function parseTable(text: string, separator: string, maxRows: number): ParsedTable {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  while (at < text.length) {
    if (rows.length === maxRows) return { rows, truncated: true };
    const field = text[at] === '"' ? quotedField(text, at, separator) : plainField(text, at, separator);
    row.push(field.value);
    at = field.end;
    if (text[at] === separator) {
      at++;
      if (at < text.length) continue;
      row.push("");
    }
    if (text[at] === "\r" && text[at + 1] === "\n") at++;
    at++;
    rows.push(row);
    row = [];
  }
  return { rows, truncated: false };
}

function plainField(text: string, start: number, separator: string): { value: string; end: number } {
  let end = start;
  while (end < text.length && text[end] !== separator && text[end] !== "\n" && text[end] !== "\r") end++;
  return { value: text.slice(start, end), end };
}

// Text after the closing quote belongs to the field, as in most programs that read such files.
function quotedField(text: string, start: number, separator: string): { value: string; end: number } {
  let value = "";
  for (let at = start + 1; ;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return { value: value + text.slice(at), end: text.length };
    value += text.slice(at, quote);
    if (text[quote + 1] !== '"') {
      const rest = plainField(text, quote + 1, separator);
      return { value: value + rest.value, end: rest.end };
    }
    value += '"';
    at = quote + 2;
  }
}

// The separator that the first line has most often.
export function separatorOf(text: string): string {
  const line = text.slice(0, text.search(/[\r\n]|$/)).replaceAll(/"[^"]*"/g, "");
  const counts = [",", ";", "\t", "|"].map((separator) => ({ separator, count: line.split(separator).length }));
  return counts.reduce((best, each) => (each.count > best.count ? each : best)).separator;
}
