import type { Notices } from "../state/page/notices.ts";
import { replaceInFiles, undoReplacement, type ReplaceResult } from "../state/replace/replace-in-files.ts";
import type { FileMatches } from "../state/sandbox/search.ts";
import type { Uses } from "./actions.ts";

type Deps = Uses<"api" | "dialogs" | "documents" | "notices" | "replacements" | "search">;

// Replaces all matches that the search lists, after a question.
export async function replaceAll(deps: Deps): Promise<void> {
  const { search, dialogs } = deps;
  // A file shows only its first matches until the person asks for more. Those that were left out by hand stay left out.
  for (const { path, more } of search.store.getState().files) if (more) await search.loadMore(path);
  const { files, replacement } = search.store.getState();
  const count = files.reduce((sum, { matches }) => sum + matches.length, 0);
  if (count === 0) return;
  const where = `${formatCount(count, "match", "matches")} in ${formatCount(files.length, "file", "files")}`;
  const what = replacement === "" ? "This deletes the found text." : `The new text is "${shorten(replacement)}".`;
  if (await dialogs.confirm(`Replace ${where}?`, `${what} You can undo it.`, "Replace", "primary")) await replaceFound(deps, files);
}

export async function replaceFound(deps: Deps, files: readonly FileMatches[]): Promise<void> {
  const { search, notices } = deps;
  const { text, replacement, matchCase, word, regex } = search.store.getState();
  const result = await replaceInFiles(deps, files, { text, replacement, matchCase, word, regex }, (done) => {
    if (files.length > 1) search.store.setState({ summary: `Replacing… ${done} of ${files.length} files` });
  });
  report(notices, result);
  const done = `Replaced ${formatCount(result.matches, "match", "matches")} in ${formatCount(result.files, "file", "files")}.`;
  const notice = result.matches > 0 ? notices.offer(done, { label: "Undo", run: () => void undoReplace(deps) }) : null;
  deps.replacements.remember({ changes: result.changes, notice });
  // Shows the remaining matches.
  search.edit({});
}

// Restores the files of the last replacement, except those that were changed since.
export async function undoReplace(deps: Deps): Promise<void> {
  const { changes, notice } = deps.replacements.take();
  if (notice !== null) deps.notices.dismiss(notice);
  if (changes.length === 0) return;
  const problems = await undoReplacement(deps, changes);
  problems.slice(0, MAX_SHOWN).forEach((problem) => deps.notices.error(problem));
  const restored = changes.length - problems.length;
  deps.notices.info(`Undid the replacement in ${formatCount(restored, "file", "files")}.`);
  deps.search.edit({});
}

const MAX_SHOWN = 3;

function report(notices: Notices, { problems }: ReplaceResult): void {
  for (const problem of problems.slice(0, MAX_SHOWN)) notices.error(`Not everything was replaced. ${problem}`);
  if (problems.length > MAX_SHOWN) notices.error(`${problems.length - MAX_SHOWN} more files were not replaced completely.`);
}

const formatCount = (count: number, one: string, many: string) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const shorten = (text: string) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
