import { constants } from "node:fs";
import { lstat, open, readlink } from "node:fs/promises";
import { join } from "node:path";
import type { Environment } from "../../processes/environment.ts";
import { type Entries, type Kept, type KeptFile, type Manifest, versionOf } from "./manifest.ts";
import type { ObjectStore } from "./object-store.ts";
import { type FoundPath, listIgnored, listPaths } from "./workspace-files.ts";

export interface ScanLimits {
  // Files, links and folders together.
  files: number;
  // A larger file is not kept.
  fileBytes: number;
  // Of all kept files. Further files are not kept.
  totalBytes: number;
}

export interface ScanOptions {
  root: string;
  environment: Environment;
  objects: ObjectStore;
  // The entries of the scan before. Files with the same version are not read again.
  known: Entries;
  limits: ScanLimits;
}

const AT_ONCE = 32;
const READ_ATTEMPTS = 3;
// File systems keep times in ticks of a few milliseconds, so two writes within one of them can have the same version.
const RECENT_NS = 50_000_000n;

// Copies the content of all files that are not known yet. null if there are too many files.
export async function scanWorkspace({
  root,
  environment,
  objects,
  known,
  limits,
}: ScanOptions): Promise<Pick<Manifest, "entries" | "ignored"> | null> {
  const ignored = await listIgnored(root, environment);
  const found = await listPaths(root, ignored, limits.files);
  if (found === null) return null;
  const entries = new Map<string, Kept>();
  let total = 0;
  for (let from = 0; from < found.length; from += AT_ONCE) {
    const part = found.slice(from, from + AT_ONCE);
    for (const [index, kept] of (await Promise.all(part.map(keep))).entries()) if (kept) entries.set(part[index]!.path, kept);
  }
  return { entries, ignored };

  // null if it has been deleted or replaced meanwhile.
  async function keep({ path, kind }: FoundPath): Promise<Kept | null> {
    const at = join(root, path);
    if (kind === "link") {
      const target = await readlink(at).catch(() => null);
      return target === null ? null : { kind, target };
    }
    const stats = await lstat(at, { bigint: true }).catch(() => null);
    if (kind === "folder") return stats?.isDirectory() ? { kind, mode: modeOf(stats) } : null;
    if (!stats?.isFile()) return null;
    const size = Number(stats.size);
    const file: KeptFile = { kind, hash: null, mode: modeOf(stats), size, version: versionOf(stats) };
    if (size > limits.fileBytes || (total += size) > limits.totalBytes) return file;
    const before = known.get(path);
    if (before?.kind === "file" && before.hash !== null && !before.recent && before.version === file.version)
      return { ...file, hash: before.hash };
    return (await readFile(at)) ?? file;
  }

  async function readFile(at: string): Promise<KeptFile | null> {
    const read = await readStable(at, limits.fileBytes);
    if (read === null) return null;
    const { bytes, stats } = read;
    const isRecent = BigInt(Date.now()) * 1_000_000n - stats.ctimeNs < RECENT_NS;
    return {
      kind: "file",
      hash: await objects.put(bytes),
      mode: modeOf(stats),
      size: bytes.byteLength,
      version: versionOf(stats),
      ...(isRecent ? { recent: true } : {}),
    };
  }
}

// null if the file cannot be read, or is written all the time.
export async function readStable(at: string, maxBytes: number) {
  try {
    for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      await using file = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const stats = await file.stat({ bigint: true });
      if (!stats.isFile() || stats.size > maxBytes) return null;
      const bytes = await file.readFile();
      if (versionOf(stats) === versionOf(await file.stat({ bigint: true }))) return { bytes, stats };
    }
    return null;
  } catch {
    return null;
  }
}

export const modeOf = ({ mode }: { mode: bigint }): number => Number(mode & 0o7777n);
