import { constants } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { join } from "node:path";
import type { Environment } from "../../processes/environment.ts";
import { type KeptFile, type Manifest, versionOf } from "./manifest.ts";
import type { ObjectStore } from "./object-store.ts";
import { listFiles, listIgnored } from "./workspace-files.ts";

export interface ScanLimits {
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
  // Files of the checkpoint before. Those with the same version are not read again.
  known: ReadonlyMap<string, KeptFile>;
  limits: ScanLimits;
}

const AT_ONCE = 32;

// Copies the content of all files that are not known yet. null if there are too many files.
export async function scanWorkspace({
  root,
  environment,
  objects,
  known,
  limits,
}: ScanOptions): Promise<Pick<Manifest, "files" | "ignored"> | null> {
  const ignored = await listIgnored(root, environment);
  const paths = await listFiles(root, ignored, limits.files);
  if (paths === null) return null;
  const files = new Map<string, KeptFile>();
  let total = 0;
  for (let from = 0; from < paths.length; from += AT_ONCE) {
    const part = paths.slice(from, from + AT_ONCE);
    for (const [index, file] of (await Promise.all(part.map(keep))).entries()) if (file) files.set(part[index]!, file);
  }
  return { files, ignored };

  // null if the file has been deleted meanwhile.
  async function keep(path: string): Promise<KeptFile | null> {
    const at = join(root, path);
    const stats = await lstat(at, { bigint: true }).catch(() => null);
    if (!stats?.isFile()) return null;
    const file = { mode: Number(stats.mode) & 0o777, size: Number(stats.size), version: versionOf(stats) };
    if (file.size > limits.fileBytes || (total += file.size) > limits.totalBytes) return { ...file, hash: null };
    const before = known.get(path);
    if (before?.hash && before.version === file.version) return { ...file, hash: before.hash };
    const bytes = await read(at, limits.fileBytes);
    return { ...file, hash: bytes && (await objects.put(bytes)) };
  }
}

// null if the file cannot be read, or is written at this moment.
async function read(at: string, maxBytes: number): Promise<Buffer | null> {
  try {
    await using file = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const before = await file.stat({ bigint: true });
    if (!before.isFile() || before.size > maxBytes) return null;
    const bytes = await file.readFile();
    return versionOf(before) === versionOf(await file.stat({ bigint: true })) ? bytes : null;
  } catch {
    return null;
  }
}
