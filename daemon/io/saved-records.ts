import { existsSync, mkdirSync, readFileSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { listNames } from "./read-or-empty.ts";
import { replaceFile } from "./replace-file.ts";

// Records on disk, one file each, so that a restarted daemon knows what an earlier one had begun.
export interface SavedRecords<T> {
  load(): T[];
  // Throws what the file system throws, such as ENOSPC.
  save(id: string, record: T): void;
  remove(id: string): void;
}

// The user can write to this folder, so its files are untrusted. `parse` returns null for an invalid record.
export function openSavedRecords<T>(folder: string, parse: (value: T) => T | null): SavedRecords<T> {
  const fileOf = (id: string) => join(folder, `${id}.json`);
  return {
    load: () =>
      listNames(folder)
        .filter((name) => name.endsWith(".json"))
        .flatMap((name) => read(join(folder, name)) ?? []),
    save(id, record) {
      if (!existsSync(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 });
      replaceFile(fileOf(id), [Buffer.from(JSON.stringify(record))], { sync: false });
    },
    remove(id) {
      try {
        unlinkSync(fileOf(id));
      } catch {
        // It was not saved, or the user has removed it.
      }
    },
  };

  function read(path: string): T | null {
    try {
      return parse(JSON.parse(readFileSync(path, "utf8")) as T);
    } catch {
      return null;
    }
  }
}
