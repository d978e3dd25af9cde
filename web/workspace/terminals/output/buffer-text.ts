import type { IBuffer } from "@xterm/xterm";

// A line as a program wrote it, which may take several rows of the screen.
export interface TextLine {
  text: string;
  // The first of its rows, and how many there are.
  row: number;
  rowCount: number;
  // The cell of each character of the text.
  cellAt: (index: number) => { row: number; column: number };
}

// The line that covers a row of the buffer. Of a line with more than `maxRows` rows, only that row is read.
export function readLine(buffer: IBuffer, someRow: number, maxRows = Number.POSITIVE_INFINITY): TextLine {
  let row = someRow;
  while (row > 0 && buffer.getLine(row)?.isWrapped) row--;
  let end = row + 1;
  while (buffer.getLine(end)?.isWrapped) end++;
  if (end - row > maxRows) [row, end] = [someRow, someRow + 1];
  let text = "";
  const cells: { row: number; column: number }[] = [];
  for (let y = row; y < end; y++) {
    const line = buffer.getLine(y);
    for (let x = 0; line && x < line.length; x++) {
      const cell = line.getCell(x);
      // The second half of a wide character has no width of its own.
      if (!cell || cell.getWidth() === 0) continue;
      const characters = cell.getChars() || " ";
      for (let i = 0; i < characters.length; i++) cells.push({ row: y, column: x });
      text += characters;
    }
  }
  return { text: text.trimEnd(), row, rowCount: end - row, cellAt: (index) => cells[index] ?? { row, column: 0 } };
}

export interface TextMatch {
  row: number;
  column: number;
  length: number;
}

// All places of a text in the buffer, from the first line to the last, ignoring the case.
export function findText(buffer: IBuffer, wanted: string): TextMatch[] {
  const needle = wanted.toLowerCase();
  const matches: TextMatch[] = [];
  if (needle === "") return matches;
  for (let row = 0; row < buffer.length;) {
    const line = readLine(buffer, row);
    const text = line.text.toLowerCase();
    for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + needle.length))
      matches.push({ ...line.cellAt(at), length: needle.length });
    row = line.row + line.rowCount;
  }
  return matches;
}

// Where to look for a text: at the selection or above it, above it, or below it.
export type FindDirection = "here" | "up" | "down";

// The index of the match in a direction from the start of the selection; -1 if there are none. After the last match the search
// continues at the other end. Without a selection it starts at the end, where the newest output is.
export function nextMatch(matches: TextMatch[], selection: { x: number; y: number } | undefined, direction: FindDirection): number {
  const distance = ({ row, column }: TextMatch) => (selection ? row - selection.y || column - selection.x : -1);
  if (direction === "down")
    return Math.max(
      Math.min(0, matches.length - 1),
      matches.findIndex((match) => distance(match) > 0),
    );
  const above = matches.findLastIndex((match) => distance(match) < (direction === "here" ? 1 : 0));
  return above === -1 ? matches.length - 1 : above;
}
