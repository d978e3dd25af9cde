import type { ChangeHunk, DiffLine } from "@berth/contract/agent.ts";
import { diffLines } from "./line-diff.ts";
import { CONTEXT_LINES, lineReader, type TextChange } from "./text-change.ts";

const MAX_LINE = 2000;

export interface LineBudget {
  // The characters that may still be sent.
  left: number;
}

export interface ShownText {
  hunks: ChangeHunk[];
  linesAdded: number;
  linesRemoved: number;
}

// The hunks of a text for people. Lines beyond the budget are only counted.
export function showHunks(change: TextChange, budget: LineBudget): ShownText {
  const read = lineReader(change);
  const shown: ShownText = { hunks: [], linesAdded: 0, linesRemoved: 0 };
  for (const hunk of change.hunks) {
    const pick = (kind: DiffLine["kind"], lines: string[]) => lines.map((line) => ({ kind, line }));
    const context = (from: number, to: number) => pick("same", change.after.slice(Math.max(0, from), to));
    const all = [
      ...context(hunk.after[0] - CONTEXT_LINES, hunk.after[0]),
      ...linesOfHunk(change, hunk),
      ...context(hunk.after[1], hunk.after[1] + CONTEXT_LINES),
    ];
    // Line ends are only visible where they differ.
    const showsReturns = new Set(all.filter(({ kind }) => kind !== "same").map(({ line }) => line.endsWith("\r\n"))).size > 1;
    const lines: DiffLine[] = [];
    for (const { kind, line } of all) {
      if (kind === "added") shown.linesAdded++;
      if (kind === "removed") shown.linesRemoved++;
      if (budget.left <= 0) continue;
      const text = display(read(line), { showsReturns, showsMissingEnd: kind !== "same" });
      budget.left -= text.length + 20;
      lines.push({ kind, text });
    }
    shown.hunks.push({ lines, ...(lines.length < all.length ? { hiddenLines: all.length - lines.length } : {}) });
  }
  return shown;
}

// A hunk can contain unchanged lines between two changes that are close to each other.
function linesOfHunk({ before, after }: TextChange, hunk: TextChange["hunks"][number]): { kind: DiffLine["kind"]; line: string }[] {
  const removed = before.slice(...hunk.before);
  const added = after.slice(...hunk.after);
  return diffLines(removed, added).flatMap(({ before: b, after: a }, index, ranges) => {
    const next = ranges[index + 1];
    return [
      ...removed.slice(...b).map((line) => ({ kind: "removed" as const, line })),
      ...added.slice(...a).map((line) => ({ kind: "added" as const, line })),
      ...added.slice(a[1], next ? next.after[0] : added.length).map((line) => ({ kind: "same" as const, line })),
    ];
  });
}

function display(line: string, { showsReturns, showsMissingEnd }: { showsReturns: boolean; showsMissingEnd: boolean }): string {
  const text = line.replace(/\r?\n$/, "");
  const shown = text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text;
  if (showsReturns && line.endsWith("\r\n")) return `${shown}␍`;
  return showsMissingEnd && !line.endsWith("\n") ? `${shown} (no newline at the end)` : shown;
}
