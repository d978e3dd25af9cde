import type { FileChange } from "@berth/contract/agent.ts";
import type { Difference } from "../checkpoints/checkpoints.ts";
import type { Kept } from "../checkpoints/manifest.ts";
import type { ObjectStore } from "../checkpoints/object-store.ts";
import { type LineBudget, showHunks } from "../text-diff/shown-hunks.ts";
import { compareTexts, type TextChange } from "../text-diff/text-change.ts";

// The visible form of a difference.
export async function describeFile(objects: ObjectStore, difference: Difference, budget: LineBudget): Promise<FileChange> {
  const { path, before, after } = difference;
  const kind = before === undefined ? "added" : after === undefined ? "deleted" : "modified";
  const notes = [kindNote(before, after), modeNote(before, after)];
  // Large files are known to have changed, but not how.
  if (isLost(before) || isLost(after)) return { path, kind, note: "Too large to compare and to bring back.", hunks: [] };
  const text = await textOf(objects, difference);
  if (text === null && [before, after].every((kept) => kept === undefined || kept.kind === "file")) notes.unshift(sizeNote(before, after));
  const note = notes.filter((part) => part !== null).join(" ");
  const shown = text === null ? null : showHunks(text, budget);
  return {
    path,
    kind,
    ...(note === "" ? {} : { note }),
    ...(shown ? { linesAdded: shown.linesAdded, linesRemoved: shown.linesRemoved } : {}),
    hunks: shown === null || shown.hunks.length === 0 ? [{ lines: [] }] : shown.hunks,
  };
}

// null if a side is not a text. An absent file counts as an empty one.
export async function textOf(objects: ObjectStore, { before, after }: Difference): Promise<TextChange | null> {
  const read = async (kept: Kept | undefined): Promise<Buffer | null | "other"> => {
    if (kept === undefined) return null;
    return kept.kind === "file" && kept.hash !== null ? await objects.read(kept.hash) : "other";
  };
  const [from, to] = [await read(before), await read(after)];
  return from === "other" || to === "other" ? null : compareTexts(from, to);
}

const isLost = (kept: Kept | undefined): boolean => kept?.kind === "file" && kept.hash === null;

function kindNote(before: Kept | undefined, after: Kept | undefined): string | null {
  if ((before ?? after)?.kind === "file" && (after ?? before)?.kind === "file") return null;
  if (before === undefined) return `New ${nameOf(after)}.`;
  if (after === undefined) return `Was ${withArticle(before)}.`;
  return before.kind === "folder" && after.kind === "folder" ? null : `Was ${withArticle(before)}, and is ${withArticle(after)} now.`;
}

function modeNote(before: Kept | undefined, after: Kept | undefined): string | null {
  if (before === undefined || after === undefined || before.kind === "link" || after.kind === "link" || before.mode === after.mode)
    return null;
  return `Permissions: ${before.mode.toString(8)} → ${after.mode.toString(8)}.`;
}

function sizeNote(before: Kept | undefined, after: Kept | undefined): string | null {
  const sizes = [before, after].map((kept) => (kept?.kind === "file" ? kept.size : null));
  if (before?.kind === "file" && after?.kind === "file" && before.hash === after.hash) return null;
  const [from, to] = sizes.map((size) => (size === null ? "none" : `${size} bytes`));
  return `Not compared by lines: ${from} → ${to}.`;
}

const nameOf = (kept: Kept | undefined) => (kept?.kind === "link" ? `link to ${kept.target}` : (kept?.kind ?? "file"));
const withArticle = (kept: Kept) => `a ${nameOf(kept)}`;
