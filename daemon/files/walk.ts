import { readdir } from "node:fs/promises";
import { join } from "node:path";

// Folders that machines fill: left out of search and quick open.
export const MACHINE_FOLDERS = new Set(["node_modules", ".git", ".hg", ".svn", ".venv", "__pycache__", ".cache"]);

// Files that are being written (content.ts), beside the file that they become: never listed, never told of as changes.
export const TEMPORARY_PREFIX = ".berth-write-";

export interface WalkedFile {
  // Relative to the folder that the walk began in.
  path: string;
  at: string;
}

// All regular files below a folder, in a steady order, without following links. What cannot be read is passed over. Ends
// early when the signal says so, also where there are folders and folders and no file.
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
