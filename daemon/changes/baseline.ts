import { constants, existsSync } from "node:fs";
import { copyFile, lstat, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Change } from "@berth/contract/changes.ts";
import { GENERATED_FOLDERS, walkFiles } from "../files/walk.ts";

// The workspace at the start of the session, for sessions without git. Taken once, at the first start. Most sessions start
// empty, so there is usually nothing to copy.
export interface Baseline {
  // No-op if it was taken before.
  take(): Promise<void>;
  changes(): Promise<{ changes: Change[]; truncated: boolean }>;
  // The path of a file's copy; null if the file did not exist or was too large to keep.
  original(path: string): Promise<string | null>;
}

interface Manifest {
  files: Record<string, { size: number; mtimeMs: number; kept: boolean }>;
  truncated: boolean;
}

const MAX_FILES = 5000;
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_TOTAL_BYTES = 50 * 1024 * 1024;

export function createBaseline(root: string, folder: string): Baseline {
  const manifestFile = join(folder, "manifest.json");
  const copyOf = (path: string) => join(folder, "files", path);
  let taking: Promise<void> | null = null;

  return {
    take: () => (taking ??= take()),
    async changes() {
      const { files, truncated } = await load();
      const changes: Change[] = [];
      const seen = new Set<string>();
      for await (const { path, at } of walkFiles(root, GENERATED_FOLDERS)) {
        if (seen.size >= MAX_FILES) return { changes, truncated: true };
        seen.add(path);
        const before = files[path];
        if (!before) changes.push({ path, kind: "added" });
        else if (await differs(at, before, copyOf(path))) changes.push({ path, kind: "modified" });
      }
      for (const path of Object.keys(files)) if (!seen.has(path)) changes.push({ path, kind: "deleted" });
      return { changes, truncated };
    },
    async original(path) {
      const before = (await load()).files[path];
      return before?.kept ? copyOf(path) : null;
    },
  };

  async function take(): Promise<void> {
    if (existsSync(manifestFile)) return;
    const manifest: Manifest = { files: {}, truncated: false };
    let count = 0;
    let total = 0;
    for await (const { path, at } of walkFiles(root, GENERATED_FOLDERS)) {
      if ((manifest.truncated = ++count > MAX_FILES)) break;
      const { size, mtimeMs } = await lstat(at);
      const kept = size <= MAX_FILE_BYTES && (total += size) <= MAX_TOTAL_BYTES;
      manifest.files[path] = { size, mtimeMs, kept };
      if (!kept) continue;
      await mkdir(dirname(copyOf(path)), { recursive: true });
      await copyFile(at, copyOf(path), constants.COPYFILE_FICLONE);
    }
    await mkdir(folder, { recursive: true });
    await writeFile(`${manifestFile}.new`, JSON.stringify(manifest));
    await rename(`${manifestFile}.new`, manifestFile);
  }

  async function load(): Promise<Manifest> {
    await taking;
    try {
      return JSON.parse(await readFile(manifestFile, "utf8")) as Manifest;
    } catch {
      return { files: {}, truncated: false };
    }
  }
}

async function differs(at: string, before: Manifest["files"][string], copy: string): Promise<boolean> {
  const now = await lstat(at).catch(() => null);
  if (!now) return false;
  if (now.size !== before.size) return true;
  if (now.mtimeMs === before.mtimeMs || !before.kept) return now.mtimeMs !== before.mtimeMs;
  const [current, old] = await Promise.all([readFile(at), readFile(copy)]);
  return !current.equals(old);
}
