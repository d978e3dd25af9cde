import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";

// The text of a file, or undefined when it does not exist. Throws when it exists and cannot be read.
export async function readFileIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

// The text of a file, or undefined when it cannot be read for any reason. For /proc and /sys, where a file disappears with its
// process and reading it then fails with one of several codes. Synchronous: the kernel answers these reads from memory.
export function readFileIfReadable(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
