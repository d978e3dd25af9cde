import type { GitChangeKind, GitFile } from "@berth/contract/git.ts";

export type GitMark = GitChangeKind | "conflict";

// The more important a mark, the further right. A folder has the most important mark of its files.
const IMPORTANCE: GitMark[] = ["untracked", "added", "renamed", "deleted", "modified", "conflict"];

export const markOf = ({ conflict, staged, unstaged }: GitFile): GitMark => (conflict ? "conflict" : (unstaged ?? staged ?? "modified"));

export const letterOf = (mark: GitMark): string =>
  mark === "conflict" ? "!" : mark === "untracked" ? "U" : mark.slice(0, 1).toUpperCase();

// The marks of changed files and of the folders above them.
export function gitMarks(files: readonly GitFile[]): ReadonlyMap<string, GitMark> {
  const marks = new Map<string, GitMark>();
  for (const file of files) {
    const mark = markOf(file);
    marks.set(file.path, mark);
    for (let end = file.path.lastIndexOf("/"); end > 0; end = file.path.lastIndexOf("/", end - 1)) {
      const folder = file.path.slice(0, end);
      const known = marks.get(folder);
      // A deleted file is no longer in the tree, so its folders have changed.
      const shown = mark === "deleted" ? "modified" : mark;
      if (known === undefined || IMPORTANCE.indexOf(known) < IMPORTANCE.indexOf(shown)) marks.set(folder, shown);
    }
  }
  return marks;
}
