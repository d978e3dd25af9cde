import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readText } from "../io/read-or-empty.ts";

// Empties the folder if it belongs to another sandbox: a fork has a copy of the disk, but not the processes of the original.
export function claimFolder(folder: string, sandboxId: string): void {
  const owner = join(folder, "sandbox");
  if (readText(owner) === sandboxId) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(owner, sandboxId);
}
