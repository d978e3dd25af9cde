import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Environment } from "../../programs/environment.ts";
import { type Entries, type Kept, type KeptFile, type Manifest, versionOf } from "./manifest.ts";
import type { ObjectStore } from "./object-store.ts";
import { type FoundPath, listIgnored, listPaths } from "./workspace-files.ts";

export interface ScanLimits {
  // Files, links and folders together.
  files: number;
  // A larger file is not kept.
  fileBytes: number;
  // The size of all kept files. The largest ones are left out.
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

const READ_ATTEMPTS = 3;
// File systems keep times in ticks of a few milliseconds, so two writes within one of them can have the same version.
const RECENT_NS = 50_000_000n;
// Synchronous calls cost less than half of asynchronous ones. After this time they let the daemon's other work run.
const SLICE_MS = 8;

interface Found {
  path: string;
  kept: Kept;
}

// Copies the content of all files that are not known yet. null if there are too many files.
export async function scanWorkspace({
  root,
  environment,
  objects,
  known,
  limits,
}: ScanOptions): Promise<Pick<Manifest, "entries" | "ignored"> | null> {
  const ignored = await listIgnored(root, environment);
  const paths = await listPaths(root, ignored, limits.files);
  if (paths === null) return null;
  const found: Found[] = [];
  await inSlices(paths, ({ path, kind }) => {
    const kept = inspect(join(root, path), kind);
    if (kept) found.push({ path, kept });
  });
  const largest = largestSize(found, limits);
  const entries = new Map<string, Kept>();
  await inSlices(found, ({ path, kept }) =>
    entries.set(path, kept.kind === "file" && kept.size <= largest ? withContent(path, kept) : kept),
  );
  return { entries, ignored };

  function withContent(path: string, file: KeptFile): KeptFile {
    const before = known.get(path);
    if (before?.kind === "file" && before.hash !== null && !before.recent && before.version === file.version)
      return { ...file, hash: before.hash };
    const read = readStable(join(root, path), limits.fileBytes);
    if (read === null) return file;
    const { bytes, stats } = read;
    const isRecent = BigInt(Date.now()) * 1_000_000n - stats.ctimeNs < RECENT_NS;
    return {
      kind: "file",
      hash: objects.put(bytes),
      mode: modeOf(stats),
      size: bytes.byteLength,
      version: versionOf(stats),
      ...(isRecent ? { recent: true } : {}),
    };
  }
}

// null if it has been deleted or replaced in the meantime.
function inspect(at: string, kind: FoundPath["kind"]): Kept | null {
  try {
    if (kind === "link") return { kind, target: readlinkSync(at) };
    const stats = lstatSync(at, { bigint: true });
    if (kind === "folder") return stats.isDirectory() ? { kind, mode: modeOf(stats) } : null;
    return stats.isFile() ? { kind, hash: null, mode: modeOf(stats), size: Number(stats.size), version: versionOf(stats) } : null;
  } catch {
    return null;
  }
}

// If not all files can be kept, the small ones are: they are more often what people and agents write.
function largestSize(found: readonly Found[], { fileBytes, totalBytes }: ScanLimits): number {
  const sizes = found.flatMap(({ kept }) => (kept.kind === "file" && kept.size <= fileBytes ? [kept.size] : [])).toSorted((a, b) => a - b);
  let total = 0;
  const first = sizes.find((size) => (total += size) > totalBytes);
  return first === undefined ? fileBytes : first - 1;
}

async function inSlices<T>(items: readonly T[], work: (item: T) => void): Promise<void> {
  let endMs = performance.now() + SLICE_MS;
  for (const item of items) {
    work(item);
    if (performance.now() < endMs) continue;
    await setImmediate();
    endMs = performance.now() + SLICE_MS;
  }
}

// null if the file cannot be read, or is written all the time.
export function readStable(at: string, maxBytes: number): { bytes: Buffer; stats: BigIntStats } | null {
  for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
    let file: number;
    try {
      file = openSync(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch {
      return null;
    }
    try {
      const stats = fstatSync(file, { bigint: true });
      if (!stats.isFile() || stats.size > maxBytes) return null;
      const bytes = readFileSync(file);
      if (versionOf(stats) === versionOf(fstatSync(file, { bigint: true }))) return { bytes, stats };
    } catch {
      return null;
    } finally {
      closeSync(file);
    }
  }
  return null;
}

export const modeOf = ({ mode }: { mode: bigint }): number => Number(mode & 0o7777n);
