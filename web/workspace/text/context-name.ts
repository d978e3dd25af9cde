import { nameOf } from "./paths.ts";

// A short name for a file, or for selected lines of it.
export function nameContext({ path, selection }: { path: string; selection?: { fromLine: number; toLine: number } }): string {
  if (!selection) return nameOf(path);
  const { fromLine, toLine } = selection;
  return `${nameOf(path)}:${fromLine === toLine ? fromLine : `${fromLine}–${toLine}`}`;
}
