import { randomBytes } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

// The files, links and folders of one checkpoint, by their paths.
export interface Manifest {
  id: string;
  createdAtMs: number;
  entries: Entries;
  // The paths that Git ignored at that time.
  ignored: ReadonlySet<string>;
}

export type Entries = ReadonlyMap<string, Kept>;
export type Kept = KeptFile | KeptLink | KeptFolder;

export interface KeptFile {
  kind: "file";
  // null if the content was too large to keep, or could not be read.
  hash: string | null;
  mode: number;
  size: number;
  // Changes with every write.
  version: string;
  // It was written so shortly before it was read that a later write may have the same version.
  recent?: true;
}

export interface KeptLink {
  kind: "link";
  target: string;
}

export interface KeptFolder {
  kind: "folder";
  mode: number;
}

// The first format had no links, no folders and no setuid bits. Its checkpoints would lose them.
const FORMAT = 2;

export const versionOf = ({ mtimeNs, ctimeNs, ino, size }: BigIntStats): string => [mtimeNs, ctimeNs, ino, size].join("-");

// Whether both are the same on disk. undefined means that nothing is there.
export function isSame(a: Kept | undefined, b: Kept | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.kind === "link") return b.kind === "link" && a.target === b.target;
  if (a.kind === "folder") return b.kind === "folder" && a.mode === b.mode;
  if (b.kind !== "file" || a.mode !== b.mode) return false;
  return a.hash === null || b.hash === null ? a.version === b.version : a.hash === b.hash;
}

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
        const { format, createdAtMs, entries, ignored } = JSON.parse(await readFile(fileOf(id), "utf8"));
        if (format !== FORMAT) return null;
        return { id, createdAtMs, entries: new Map(Object.entries<Kept>(entries)), ignored: new Set<string>(ignored) };
      } catch {
        return null;
      }
    },
    async save({ id, createdAtMs, entries, ignored }: Manifest): Promise<void> {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const body = JSON.stringify({ format: FORMAT, createdAtMs, entries: Object.fromEntries(entries), ignored: [...ignored] });
      await writeFile(`${fileOf(id)}.new`, body, { mode: 0o600 });
      await rename(`${fileOf(id)}.new`, fileOf(id));
    },
    remove: (id: string) => rm(fileOf(id), { force: true }),
    bytesOf: async (id: string): Promise<number> => (await stat(fileOf(id)).catch(() => null))?.size ?? 0,
  };
}
