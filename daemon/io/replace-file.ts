import { closeSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";

export interface ReplaceOptions {
  // Whether the data must be on disk when the call returns.
  sync: boolean;
}

// Replaces a file atomically: a crash leaves the old file or the new one. Each part is written before the next one is
// requested.
export function replaceFile(path: string, parts: Iterable<Uint8Array>, { sync }: ReplaceOptions): void {
  const temporary = `${path}.new`;
  const file = openSync(temporary, "w", 0o600);
  try {
    for (const part of parts) for (let done = 0; done < part.length;) done += writeSync(file, part, done);
    if (sync) fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}
