import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";

// Small files that the processes of an installation share.

// undefined if the file does not exist or is not valid: after a power cut, a file that was just renamed can be empty.
export function readJson<Value>(path: string): Value | undefined {
  const text = readFileIfReadable(path);
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Value);
  } catch {
    return undefined;
  }
}

// Readers get the old or the new content, never a part of it.
export function writeJson(path: string, value: object): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.${process.pid}`, JSON.stringify(value), { mode: 0o600 });
  renameSync(`${path}.${process.pid}`, path);
}
