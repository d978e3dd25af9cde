import type { Notices } from "../page/notices.ts";
import { replaceInFiles, undoReplacement, type ReplaceResult } from "../replace/replace-in-files.ts";
import type { FileMatches } from "../sandbox/search.ts";
import type { Workspace } from "../workspace.ts";

// Replaces all matches that the search lists, after a question.
export async function replaceAll(workspace: Workspace): Promise<void> {
  const { search, dialogs } = workspace;
  // A file shows only its first matches until the person asks for more. Those that were left out by hand stay left out.
  for (const { path, more } of search.store.getState().files) if (more) await search.loadMore(path);
  const { files, replacement } = search.store.getState();
  const count = files.reduce((sum, { matches }) => sum + matches.length, 0);
  if (count === 0) return;
  const where = `${formatCount(count, "match", "matches")} in ${formatCount(files.length, "file", "files")}`;
  const what = replacement === "" ? "This deletes the found text." : `The new text is "${shorten(replacement)}".`;
  if (await dialogs.confirm(`Replace ${where}?`, `${what} You can undo it.`, "Replace", "primary")) await replaceFound(workspace, files);
}

export async function replaceFound(workspace: Workspace, files: readonly FileMatches[]): Promise<void> {
  const { search, notices } = workspace;
  const { text, replacement, matchCase, word, regex } = search.store.getState();
  const result = await replaceInFiles(workspace, files, { text, replacement, matchCase, word, regex }, (done) => {
    if (files.length > 1) search.store.setState({ summary: `Replacing… ${done} of ${files.length} files` });
  });
  report(notices, result);
  const done = `Replaced ${formatCount(result.matches, "match", "matches")} in ${formatCount(result.files, "file", "files")}.`;
  const notice = result.matches > 0 ? notices.offer(done, { label: "Undo", run: () => void undoReplace(workspace) }) : null;
  workspace.replacements.remember({ changes: result.changes, notice });
  // Shows the remaining matches.
  search.edit({});
}

// Restores the files of the last replacement, except those that were changed since.
export async function undoReplace(workspace: Workspace): Promise<void> {
  const { changes, notice } = workspace.replacements.take();
  if (notice !== null) workspace.notices.dismiss(notice);
  if (changes.length === 0) return;
  const problems = await undoReplacement(workspace, changes);
  problems.slice(0, MAX_SHOWN).forEach((problem) => workspace.notices.error(problem));
  const restored = changes.length - problems.length;
  workspace.notices.info(`Undid the replacement in ${formatCount(restored, "file", "files")}.`);
  workspace.search.edit({});
}

const MAX_SHOWN = 3;

function report(notices: Notices, { problems }: ReplaceResult): void {
  for (const problem of problems.slice(0, MAX_SHOWN)) notices.error(`Not everything was replaced. ${problem}`);
  if (problems.length > MAX_SHOWN) notices.error(`${problems.length - MAX_SHOWN} more files were not replaced completely.`);
}

const formatCount = (count: number, one: string, many: string) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const shorten = (text: string) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
