import { randomBytes } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

// The files of one checkpoint.
export interface Manifest {
  id: string;
  createdAtMs: number;
  files: Map<string, KeptFile>;
  // The paths that Git ignored at that time.
  ignored: Set<string>;
}

export interface KeptFile {
  // null if the content was too large to keep.
  hash: string | null;
  mode: number;
  size: number;
  // Changes with every write.
  version: string;
}

export const versionOf = ({ mtimeNs, ctimeNs, ino, size }: BigIntStats): string => [mtimeNs, ctimeNs, ino, size].join("-");

// The manifests on disk, one file each. Their names sort by age.
export function openManifests(folder: string) {
  const fileOf = (id: string) => join(folder, `${id}.json`);
  return {
    newId: (): string => `cp_${Date.now().toString(16).padStart(12, "0")}${randomBytes(4).toString("hex")}`,
    // The oldest first.
    async list(): Promise<string[]> {
      const names = await readdir(folder).catch(() => []);
      return names.flatMap((name) => (/^cp_[0-9a-f]{20}\.json$/.test(name) ? name.slice(0, -5) : [])).toSorted();
    },
    // null if there is none, or if it is damaged.
    async load(id: string): Promise<Manifest | null> {
      if (!/^cp_[0-9a-f]{20}$/.test(id)) return null;
      try {
        const { createdAtMs, files, ignored } = JSON.parse(await readFile(fileOf(id), "utf8"));
        return { id, createdAtMs, files: new Map(Object.entries<KeptFile>(files)), ignored: new Set<string>(ignored) };
      } catch {
        return null;
      }
    },
    async save({ id, createdAtMs, files, ignored }: Manifest): Promise<void> {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const body = JSON.stringify({ createdAtMs, files: Object.fromEntries(files), ignored: [...ignored] });
      await writeFile(`${fileOf(id)}.new`, body, { mode: 0o600 });
      await rename(`${fileOf(id)}.new`, fileOf(id));
    },
    remove: (id: string) => rm(fileOf(id), { force: true }),
  };
}

export type Manifests = ReturnType<typeof openManifests>;
