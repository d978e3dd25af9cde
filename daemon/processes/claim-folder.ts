import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// Empties the folder if it belongs to another session: a fork has a copy of the disk, but not the processes of the original.
export function claimFolder(folder: string, sessionId: string): void {
  const owner = join(folder, "session");
  if (readOwner(owner) === sessionId) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(owner, sessionId);
}

function readOwner(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
