import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import { readProcess } from "../../host/process-table.ts";

export interface Pin {
  name: string;
  digest: string;
  // When the name was resolved.
  atMs: number;
}

// How a fetch goes, or why it has failed, for other processes.
export interface FetchProgress {
  percent?: number;
  // The process that fetches (`ownerOf`).
  owner?: string;
  failed?: string;
}

// Another process may get the same id later.
export const ownerOf = (pid: number): string => `${pid}.${readProcess(pid)?.started}`;

export const isRunning = (owner: string): boolean => owner === ownerOf(Number(owner.split(".")[0]));

// The digest that each name of an image stands for, in files that `berth template pull` changes while a server runs.
export function createPins(imagesDir: string) {
  const folder = join(imagesDir, "pins");
  const hashOf = (name: string) => createHash("sha256").update(name).digest("hex");
  const pathOf = (name: string) => join(folder, `${hashOf(name)}.json`);
  const progressPathOf = (name: string) => join(folder, `${hashOf(name)}.progress`);

  // A power cut can leave a file empty that was renamed just before.
  function readJson<Value>(path: string): Value | undefined {
    const text = readFileIfReadable(path);
    try {
      return text === undefined ? undefined : (JSON.parse(text) as Value);
    } catch {
      return undefined;
    }
  }

  function write(path: string, value: object): void {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(`${path}.${process.pid}`, JSON.stringify(value), { mode: 0o600 });
    renameSync(`${path}.${process.pid}`, path);
  }

  return {
    readJson,
    of: (name: string) => readJson<Pin>(pathOf(name)),
    set: (name: string, digest: string) => write(pathOf(name), { name, digest, atMs: Date.now() } satisfies Pin),
    progressOf: (name: string) => readJson<FetchProgress>(progressPathOf(name)),
    // The fetch goes on if the disk has no room for this, and so does the report of its failure.
    setProgress(name: string, progress: FetchProgress): void {
      try {
        write(progressPathOf(name), progress);
      } catch {
        // Nobody needs it.
      }
    },
    clearProgress: (name: string) => rmSync(progressPathOf(name), { force: true }),
    remove: (name: string) => rmSync(pathOf(name), { force: true }),
    list: (): Pin[] =>
      existsSync(folder)
        ? readdirSync(folder).flatMap((file) => (file.endsWith(".json") ? (readJson<Pin>(join(folder, file)) ?? []) : []))
        : [],
    // The folders of images.
    folders: (): string[] => (existsSync(imagesDir) ? readdirSync(imagesDir).filter((name) => name.startsWith("sha256-")) : []),
  };
}

export const folderOfDigest = (digest: string): string => digest.replace(":", "-");
