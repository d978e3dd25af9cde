import { randomBytes } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isStringArray } from "../http/body.ts";
import { listNames } from "../io/read-or-empty.ts";

export interface TrashLimits {
  // The size of one item, which is everything that was deleted at once.
  itemBytes: number;
  itemFiles: number;
  // The size of all items together. The oldest are removed first.
  totalBytes: number;
  ageMs: number;
}

export interface TrashItem {
  id: string;
  // Where the content of the n-th path is kept.
  at(index: number): string;
}

export interface TrashFolder {
  // Makes room for an item and starts it. It is lost unless it is finished.
  add(bytes: number): Promise<TrashItem & { finish(paths: string[]): Promise<void> }>;
  // null if there is no such item, or it is too old.
  find(id: string): Promise<(TrashItem & { paths: string[] }) | null>;
  remove(id: string): Promise<void>;
}

interface Manifest {
  paths: string[];
  bytes: number;
  deletedAtMs: number;
}

const PRUNE_EVERY_MS = 60 * 60 * 1000;

// The deleted files on disk: a folder per item with its manifest and the content of each path.
export function openTrashFolder(folder: string, { totalBytes, ageMs }: TrashLimits): TrashFolder {
  const itemAt = (id: string): TrashItem => ({ id, at: (index) => join(folder, id, String(index)) });
  const manifestOf = (id: string) => join(folder, id, "manifest.json");
  const remove = (id: string) => rm(join(folder, id), { recursive: true, force: true });
  const isCurrent = ({ deletedAtMs }: Manifest) => Date.now() - deletedAtMs < ageMs;
  setInterval(() => void prune(0).catch(() => {}), PRUNE_EVERY_MS).unref();

  // Removes items that are too old or unfinished, and then the oldest ones until there is room.
  async function prune(neededBytes: number): Promise<void> {
    const kept: (Manifest & { id: string })[] = [];
    for (const id of listNames(folder)) {
      const manifest = await readManifest(manifestOf(id));
      if (manifest && isCurrent(manifest)) kept.push({ id, ...manifest });
      else await remove(id);
    }
    kept.sort((a, b) => b.deletedAtMs - a.deletedAtMs);
    let total = neededBytes;
    for (const { id, bytes } of kept) if ((total += bytes) > totalBytes) await remove(id);
  }

  return {
    async add(bytes) {
      await prune(bytes);
      const item = itemAt(randomBytes(8).toString("hex"));
      await mkdir(join(folder, item.id), { recursive: true, mode: 0o700 });
      return {
        ...item,
        finish: (paths) =>
          writeFile(manifestOf(item.id), JSON.stringify({ paths, bytes, deletedAtMs: Date.now() } satisfies Manifest), { mode: 0o600 }),
      };
    },
    async find(id) {
      if (!/^[0-9a-f]{16}$/.test(id)) return null;
      const manifest = await readManifest(manifestOf(id));
      return manifest && isCurrent(manifest) ? { ...itemAt(id), paths: manifest.paths } : null;
    },
    remove,
  };
}

// Programs of the user can write to this folder, so the manifest is untrusted.
async function readManifest(file: string): Promise<Manifest | null> {
  try {
    const { paths, bytes, deletedAtMs } = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
    const isValid = isStringArray(paths) && typeof bytes === "number" && typeof deletedAtMs === "number";
    return isValid ? { paths, bytes, deletedAtMs } : null;
  } catch {
    return null;
  }
}
