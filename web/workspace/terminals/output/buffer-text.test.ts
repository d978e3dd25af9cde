import { expect, test } from "vitest";
import type { IBuffer } from "@xterm/xterm";
import { findText, nextMatch, readLine } from "./buffer-text.ts";

// A buffer of rows. A row that starts with "+" continues the row above.
function bufferOf(...rows: string[]): IBuffer {
  const lines = rows.map((row) => {
    const cells = Array.from(row.replace(/^\+/, "")).flatMap((character) => (character === "界" ? [character, null] : [character]));
    const getCell = (x: number) => ({ getChars: () => cells[x] ?? "", getWidth: () => (cells[x] === null ? 0 : 1) });
    return { isWrapped: row.startsWith("+"), length: cells.length, getCell };
  });
  return { length: lines.length, getLine: (y: number) => lines[y] } as unknown as IBuffer;
}

test("a line that takes several rows is read as one", () => {
  const buffer = bufferOf("first", "src/a", "+.ts:1", "last");
  for (const row of [1, 2]) expect(readLine(buffer, row)).toMatchObject({ text: "src/a.ts:1", row: 1, rowCount: 2 });
  expect(readLine(buffer, 2, 1)).toMatchObject({ text: ".ts:1", row: 2, rowCount: 1 });
  expect(readLine(buffer, 1).cellAt(6)).toEqual({ row: 2, column: 1 });
});

test("characters after a wide one are found in their cells", () => {
  expect(findText(bufferOf("界 here"), "here")).toEqual([{ row: 0, column: 3, length: 4 }]);
});

test("all places of a text are found, across rows and ignoring the case", () => {
  const buffer = bufferOf("Error one error", "an er", "+ror", "none");
  expect(findText(buffer, "error")).toEqual([
    { row: 0, column: 0, length: 5 },
    { row: 0, column: 10, length: 5 },
    { row: 1, column: 3, length: 5 },
  ]);
  expect(findText(buffer, "")).toEqual([]);
});

test("the search goes up from the selection or from the end, down again, and continues at the other end", () => {
  const matches = [0, 5, 9].map((row) => ({ row, column: 2, length: 1 }));
  const selected = (row: number) => ({ x: 2, y: row });
  expect(nextMatch(matches, undefined, "here")).toBe(2);
  expect(nextMatch(matches, selected(9), "here")).toBe(2);
  expect(nextMatch(matches, selected(9), "up")).toBe(1);
  expect(nextMatch(matches, selected(0), "up")).toBe(2);
  expect(nextMatch(matches, selected(5), "down")).toBe(2);
  expect(nextMatch(matches, selected(9), "down")).toBe(0);
  expect((["here", "up", "down"] as const).map((direction) => nextMatch([], undefined, direction))).toEqual([-1, -1, -1]);
});
