import { ApiError, type Api } from "../../connection/api.ts";
import { decodeText, encodeText, type Encoding } from "../../text/encoding.ts";
import { replaceMatches, type ReplaceQuery } from "./replace-matches.ts";
import type { Documents } from "../documents/documents.ts";
import { describeError } from "../page/notices.ts";
import type { FileMatches } from "../sandbox/search.ts";

export interface ReplaceDeps {
  api: Pick<Api, "readFile" | "writeFile">;
  documents: Pick<Documents, "bufferOf" | "documentAt" | "save">;
}

export interface ReplaceResult {
  matches: number;
  files: number;
  // Why something was not replaced, one sentence for each file.
  problems: string[];
  // The changed files, for undoing.
  changes: FileReplacement[];
}

// The change of one file by the replacement.
export interface FileReplacement {
  path: string;
  before: string;
  after: string;
  encoding: Encoding;
  // The version on disk after the replacement. Null if the text was replaced in an editor.
  etag: string | null;
}

// The search skips larger files.
const MAX_FILE_BYTES = 6 * 1024 * 1024;
// The texts that are kept for undoing.
const MAX_KEPT_CHARS = 50_000_000;

// Replaces the found matches. A file that is open in an editor changes there, so that the editor's undo works too.
export async function replaceInFiles(
  deps: ReplaceDeps,
  files: readonly FileMatches[],
  query: ReplaceQuery,
  onProgress: (done: number) => void,
): Promise<ReplaceResult> {
  const result: ReplaceResult = { matches: 0, files: 0, problems: [], changes: [] };
  let kept = 0;
  for (const [index, { path, matches }] of files.entries()) {
    onProgress(index);
    if (kept > MAX_KEPT_CHARS) {
      result.problems.push(`${files.length - index} files were left out because the change is too large. Replace again to continue.`);
      break;
    }
    try {
      const change = await replaceInFile(deps, path, (text) => replaceMatches(text, matches, query));
      if (change.missed > 0) result.problems.push(`${path}: ${describeMissed(change.missed)} since the search and stayed as before.`);
      if (change.count === 0) continue;
      result.matches += change.count;
      result.files++;
      result.changes.push(change.replacement);
      kept += change.replacement.before.length;
    } catch (error) {
      result.problems.push(`${path}: ${describeFailure(error)}.`);
    }
  }
  return result;
}

// Restores the texts before a replacement, except those that were changed since. Returns one sentence for each text that was not restored.
export async function undoReplacement(deps: ReplaceDeps, changes: readonly FileReplacement[]): Promise<string[]> {
  const problems: string[] = [];
  for (const { path, before, after, encoding, etag } of changes) {
    try {
      if (etag !== null) await deps.api.writeFile(path, encodeText(before, encoding), etag);
      else if (!(await undoInEditor(deps, path, before, after))) problems.push(`${path} was changed since and stayed as it is.`);
    } catch (error) {
      const changed = error instanceof ApiError && (error.status === 412 || error.status === 404);
      problems.push(changed ? `${path} was changed since and stayed as it is.` : `${path}: ${describeFailure(error)}.`);
    }
  }
  return problems;
}

type Replacing = ReturnType<typeof replaceMatches> & { replacement: FileReplacement };

async function replaceInFile(
  deps: ReplaceDeps,
  path: string,
  replace: (text: string) => ReturnType<typeof replaceMatches>,
): Promise<Replacing> {
  const { api, documents } = deps;
  const buffer = documents.bufferOf(path);
  if (buffer && documents.documentAt(path)) {
    const before = buffer.snapshot().text;
    const replaced = replace(before);
    if (replaced.count > 0) await editAndSave(deps, path, replaced.text);
    return { ...replaced, replacement: { path, before, after: replaced.text, encoding: "utf-8", etag: null } };
  }
  const { bytes, etag } = await api.readFile(path, MAX_FILE_BYTES);
  const decoded = bytes && decodeText(bytes);
  if (!decoded) throw new Error("It is not a text file, or it is too large");
  const replaced = replace(decoded.text);
  const replacement = { path, before: decoded.text, after: replaced.text, encoding: decoded.encoding, etag: etag as string | null };
  if (replaced.count > 0) replacement.etag = (await api.writeFile(path, encodeText(replaced.text, decoded.encoding), etag)).etag;
  return { ...replaced, replacement };
}

// A text that had no unsaved edits is saved, like the files that are not open.
async function editAndSave({ documents }: ReplaceDeps, path: string, text: string): Promise<void> {
  const wasEdited = documents.documentAt(path)?.edited === true;
  documents.bufferOf(path)?.edit(text);
  if (!wasEdited) await documents.save(path);
}

async function undoInEditor(deps: ReplaceDeps, path: string, before: string, after: string): Promise<boolean> {
  const buffer = deps.documents.bufferOf(path);
  if (buffer) {
    if (buffer.snapshot().text !== after) return false;
    await editAndSave(deps, path, before);
    return true;
  }
  // The editor was closed in the meantime.
  const { bytes, etag } = await deps.api.readFile(path, MAX_FILE_BYTES);
  const decoded = bytes && decodeText(bytes);
  if (!decoded || decoded.text !== after) return false;
  await deps.api.writeFile(path, encodeText(before, decoded.encoding), etag);
  return true;
}

const describeMissed = (count: number) => (count === 1 ? "one match has changed" : `${count} matches have changed`);

const describeFailure = (error: unknown): string =>
  error instanceof ApiError && error.status === 412 ? "it was changed at the same time and stayed as it is" : describeError(error);
