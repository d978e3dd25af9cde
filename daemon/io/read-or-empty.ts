import { readdirSync, readFileSync } from "node:fs";

// The names in a folder; none if it does not exist or cannot be read.
export function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

// The text of a small file, such as one of /proc, whose process can end at any time; "" if it cannot be read.
export function readText(file: string): string {
  try {
    // Node reads this encoding much faster than others.
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
