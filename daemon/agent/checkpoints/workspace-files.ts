import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { GENERATED_FOLDERS, TEMPORARY_PREFIX } from "../../files/walk.ts";
import { launchGit } from "../../git/process/launch-git.ts";
import { createRepositories, workspacePath } from "../../git/repositories.ts";
import { readBounded } from "../../io/read-bounded.ts";
import type { Environment } from "../../programs/environment.ts";

const MAX_OUTPUT = 4 * 1024 * 1024;

export interface FoundPath {
  path: string;
  kind: "file" | "link" | "folder";
}

// All that belongs to a checkpoint: everything but generated folders and what Git ignores. null if there is too much.
export async function listPaths(root: string, ignored: ReadonlySet<string>, max: number): Promise<FoundPath[] | null> {
  const found: FoundPath[] = [];
  const stack = [""];
  for (let folder = stack.pop(); folder !== undefined; folder = stack.pop()) {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (ignored.has(path) || entry.name.startsWith(TEMPORARY_PREFIX)) continue;
      if (entry.isFile()) found.push({ path, kind: "file" });
      else if (entry.isSymbolicLink()) found.push({ path, kind: "link" });
      else if (entry.isDirectory() && !GENERATED_FOLDERS.has(entry.name)) {
        found.push({ path, kind: "folder" });
        stack.push(path);
      }
    }
    if (found.length > max) return null;
  }
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

// The files and whole folders that Git ignores. Without Git, or outside a repository, that is none.
export async function listIgnored(root: string, environment: Environment): Promise<Set<string>> {
  const found = await Promise.all(createRepositories(root).list().map(ignoredIn));
  return new Set(found.flat());

  async function ignoredIn(repository: string): Promise<string[]> {
    const args = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
    const git = launchGit(args, { cwd: join(root, repository), environment });
    const output = await readBounded(git.stdout, { maxBytes: MAX_OUTPUT, tooLarge: "There are too many ignored files" });
    const paths = output.toString().split("\0");
    return paths.filter((path) => path !== "").map((path) => workspacePath(repository, path.replace(/\/$/, "")));
  }
}

// Whether the path, or a folder that contains it, is in the set.
export function isBelow(path: string, folders: ReadonlySet<string>): boolean {
  for (let at = path.length; at > 0; at = path.lastIndexOf("/", at - 1)) if (folders.has(path.slice(0, at))) return true;
  return false;
}

export const isGenerated = (path: string): boolean => path.split("/").some((name) => GENERATED_FOLDERS.has(name));
