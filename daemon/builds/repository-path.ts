import { join, normalize } from "node:path";

// The path, below the repository, of what a file in `folder` names. Throws if it is outside.
export function pathInRepository(folder: string, path: string, subject: string): string {
  const named = normalize(join(folder, path));
  if (named === ".." || named.startsWith("../") || named.includes("\0")) throw new Error(`${subject} ${path} is outside of the repository`);
  return named;
}
