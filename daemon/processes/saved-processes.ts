import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Process } from "@berth/contract/daemon/processes.ts";
import { listNames } from "../io/read-or-empty.ts";
import { replaceFile } from "../io/replace-file.ts";

// Processes on disk, so that a restarted sandbox can say of each that it is lost. One file each, without the output.
export interface SavedProcesses {
  load(): Process[];
  save(process: Process): void;
  remove(id: string): void;
}

export const PROCESS_ID = /^proc_[0-9a-f]{16}$/;

export function openSavedProcesses(folder: string): SavedProcesses {
  const fileOf = (id: string) => join(folder, `${id}.json`);
  return {
    load() {
      const names = listNames(folder).filter((name) => name.endsWith(".json"));
      return names.flatMap((name) => parse(join(folder, name)) ?? []).toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
    },
    save(process) {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        replaceFile(fileOf(process.id), [Buffer.from(JSON.stringify(process))], { sync: false });
      } catch (error) {
        // On a full disk a process is not remembered over a restart, but it runs.
        console.error("A process could not be saved:", error);
      }
    },
    remove: (id) => rmSync(fileOf(id), { force: true }),
  };
}

// The user can write to this folder, so its files are untrusted. Returns null for an invalid file.
function parse(path: string): Process | null {
  try {
    const saved = JSON.parse(readFileSync(path, "utf8")) as Process;
    const isValid =
      PROCESS_ID.test(saved.id) &&
      ["running", "exited", "lost"].includes(saved.status) &&
      typeof saved.startedAt === "string" &&
      Number.isSafeInteger(saved.outputBytes);
    return isValid ? saved : null;
  } catch {
    return null;
  }
}
