import { chmodSync, mkdirSync } from "node:fs";

// Creates a folder that a sandbox or another user has to enter, with this mode. The mode of `mkdir` is masked, and a folder that exists
// may have been made by a server with another mask.
export function makeFolder(path: string, mode: number): void {
  mkdirSync(path, { recursive: true, mode });
  chmodSync(path, mode);
}
