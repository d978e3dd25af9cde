import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { TrashLimits } from "./trash-folder.ts";

// The size of files and folders with their contents, or null if they exceed the limits of one item of the trash.
export async function measure(paths: string[], { itemBytes, itemFiles }: TrashLimits): Promise<{ bytes: number } | null> {
  const stack = [...paths];
  let bytes = 0;
  let files = 0;
  for (let path = stack.pop(); path !== undefined; path = stack.pop()) {
    const stats = await lstat(path);
    if (stats.isFile()) bytes += stats.size;
    if (++files > itemFiles || bytes > itemBytes) return null;
    if (!stats.isDirectory()) continue;
    for await (const { name } of await opendir(path)) {
      stack.push(join(path, name));
      if (stack.length > itemFiles) return null;
    }
  }
  return { bytes };
}
