import { existsSync, globSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ImageState } from "../../driver.ts";
import { readProcess } from "../../host/process-table.ts";
import { readJson, writeJson } from "./json-files.ts";
import { createPins, folderOfDigest, pathOfName } from "./pins.ts";

// The state of an image, which is the same for all processes of the installation. `ownPercent`: this process has fetched so much of it.
export function readImageState(dataDir: string, name: string, ownPercent?: number): ImageState {
  const imagesDir = join(dataDir, "images");
  const progress = createProgress(imagesDir).of(name);
  const isFetched = progress?.percent !== undefined && isRunning(progress.owner ?? "");
  const percent = ownPercent ?? (isFetched ? progress.percent : undefined);
  const digest = createPins(imagesDir).of(name)?.digest;
  if (digest !== undefined && existsSync(folderOfDigest(imagesDir, digest)))
    return { state: "ready", digest, ...(percent !== undefined && { percent }) };
  if (percent !== undefined) return { state: "fetching", percent };
  return progress?.failed === undefined ? { state: "absent" } : { state: "failed", sentence: progress.failed };
}

// The progress of a fetch, or the reason why the last one failed.
export interface FetchProgress {
  percent?: number;
  // The process that fetches (`ownerOf`).
  owner?: string;
  failed?: string;
}

// Identifies a process. Another one may get the same id later, but not with the same start time.
export const ownerOf = (pid: number): string => `${pid}.${readProcess(pid)?.started}`;

export const isRunning = (owner: string): boolean => owner === ownerOf(Number(owner.split(".")[0]));

// Tells other processes how fetches go.
export function createProgress(imagesDir: string) {
  const pathOf = (name: string) => pathOfName(imagesDir, name, "progress");
  return {
    of: (name: string) => readJson<FetchProgress>(pathOf(name)),
    set(name: string, progress: FetchProgress): void {
      try {
        writeJson(pathOf(name), progress);
      } catch {
        // The disk may be full. The fetch, or the report of its failure, does not depend on this file.
      }
    },
    clear: (name: string) => rmSync(pathOf(name), { force: true }),
    // Removes files that have not changed for so long, except those of `names`.
    forget(names: ReadonlySet<string>, maxAgeMs: number): void {
      const kept = new Set([...names].map(pathOf));
      for (const file of globSync("pins/*.progress", { cwd: imagesDir })) {
        const path = join(imagesDir, file);
        const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
        if (!kept.has(path) && Date.now() - changedMs > maxAgeMs) rmSync(path, { force: true });
      }
    },
  };
}
