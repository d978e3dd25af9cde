import { readdir } from "node:fs/promises";
import { join } from "node:path";

// Search and quick open skip these folders, because tools generate their contents.
export const GENERATED_FOLDERS = new Set(["node_modules", ".git", ".hg", ".svn", ".venv", "__pycache__", ".cache"]);

// content.ts writes to a temporary file with this prefix, next to its target. Listings and change events omit such files.
export const TEMPORARY_PREFIX = ".berth-write-";

export interface WalkedFile {
  // Relative to the folder where the walk starts.
  path: string;
  at: string;
}

// Yields all regular files below a folder in a stable order. It does not follow symbolic links and skips folders it cannot
// read. When `signal` aborts, the walk stops, even in a tree of folders without files.
export async function* walkFiles(folder: string, skip: ReadonlySet<string>, signal?: AbortSignal): AsyncGenerator<WalkedFile> {
  const stack = [""];
  for (let path = stack.pop(); path !== undefined && !signal?.aborted; path = stack.pop()) {
    const entries = await readdir(join(folder, path), { withFileTypes: true }).catch(() => []);
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    const folders: string[] = [];
    for (const entry of entries) {
      const child = path === "" ? entry.name : `${path}/${entry.name}`;
      if (entry.name.startsWith(TEMPORARY_PREFIX)) continue;
      if (entry.isFile()) yield { path: child, at: join(folder, child) };
      else if (entry.isDirectory() && !skip.has(entry.name)) folders.push(child);
    }
    stack.push(...folders.toReversed());
  }
}
