import { readdirSync } from "node:fs";

// The names in a folder; none if it does not exist or cannot be read.
export function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
