import type { TextLocation } from "../state/tabs/cursor.ts";

// The request that the text in the palette stands for.
export type PaletteInput =
  | { kind: "commands"; query: string }
  // A place in the active file. Null while no line has been typed.
  | { kind: "line"; location: TextLocation | null }
  | { kind: "symbols"; query: string }
  // Files by name, and the place to show in the chosen one.
  | { kind: "files"; query: string; location: TextLocation | null };

// `>` lists commands, `:12:5` goes to a line and column, `@` lists symbols, and `file.ts:12` opens a file at a line.
export function parseInput(text: string): PaletteInput {
  if (text.startsWith(">")) return { kind: "commands", query: text.slice(1) };
  if (text.startsWith("@")) return { kind: "symbols", query: text.slice(1).trim() };
  if (text.startsWith(":")) return { kind: "line", location: parseLocation(text.slice(1)) };
  const [, query = "", place] = /^(.*?)(?::([\d:, ]*))?$/.exec(text.trim()) ?? [];
  return { kind: "files", query: query.trim(), location: parseLocation(place ?? "") };
}

function parseLocation(text: string): TextLocation | null {
  const [, line, column] = /^\s*(\d{1,9})(?:\s*[:,]\s*(\d{1,9})?)?\s*:?\s*$/.exec(text) ?? [];
  if (line === undefined) return null;
  return { line: Math.max(1, Number(line)), column: Math.max(1, Number(column ?? 1)) };
}
