import { readFileSync } from "node:fs";

// Reads a small file, such as one of /proc. undefined if it cannot be read, usually because its process or group has ended.
export function readTextFile(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
