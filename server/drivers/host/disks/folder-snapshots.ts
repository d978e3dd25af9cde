import { existsSync } from "node:fs";
import { mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { isSnapshotId, type SnapshotId } from "@berth/contract";
import { plainRunner, type FileRunner } from "../file-runner.ts";
import { mustRun } from "../run.ts";

// Snapshots of plain files and folders on this machine, each in a folder of its own. A copy gets its final name when it is complete
// and on disk.
export interface FolderSnapshots {
  // The folder of all snapshots.
  readonly folder: string;
  // Copies these entries of `folder` into the draft.
  take(id: SnapshotId, folder: string, names: readonly string[], signal: AbortSignal): Promise<void>;
  // Makes a complete draft durable and gives it its name. Returns the space that it occupies.
  complete(id: SnapshotId, signal: AbortSignal): Promise<number>;
  // Copies all entries of a snapshot into a folder that has none of them. Rejects if there is no such snapshot.
  restore(id: SnapshotId, folder: string, signal: AbortSignal): Promise<void>;
  size(id: SnapshotId, signal: AbortSignal): Promise<number>;
  folderOf(id: SnapshotId): string;
  has(id: SnapshotId): boolean;
  // The folder in which a snapshot is made. Empties it.
  draft(id: SnapshotId): Promise<string>;
  remove(id: SnapshotId): Promise<void>;
  list(): Promise<SnapshotId[]>;
}

const DRAFT = ".new";
const COPY_TIMEOUT_MS = 10 * 60_000;

export function createFolderSnapshots(dataDir: string, files: FileRunner = plainRunner): FolderSnapshots {
  const parent = join(dataDir, "snapshots");
  const folderOf = (id: SnapshotId) => join(parent, id);
  const draftOf = (id: SnapshotId) => `${folderOf(id)}${DRAFT}`;

  async function draft(id: SnapshotId): Promise<string> {
    await files.run("rm", ["-rf", "--one-file-system", "--", draftOf(id)]);
    await mkdir(draftOf(id), { recursive: true, mode: 0o700 });
    return draftOf(id);
  }

  return {
    folder: parent,
    folderOf,
    has: (id) => existsSync(folderOf(id)),
    draft,

    async take(id, folder, names, signal) {
      await copyEntries(files, { from: folder, names, to: await draft(id) }, signal);
    },

    async complete(id, signal) {
      await flush(draftOf(id), signal);
      await rename(draftOf(id), folderOf(id));
      await mustRun("sync", [parent], { signal });
      return sizeOf(files, folderOf(id), signal);
    },

    size: (id, signal) => sizeOf(files, folderOf(id), signal),

    async restore(id, folder, signal) {
      const names = await readdir(folderOf(id));
      await copyEntries(files, { from: folderOf(id), names, to: folder }, signal);
    },

    async remove(id) {
      await files.run("rm", ["-rf", "--one-file-system", "--", folderOf(id), draftOf(id)], { timeoutMs: COPY_TIMEOUT_MS });
    },

    async list() {
      const names = await readdir(parent).catch((): string[] => []);
      return [...new Set(names.map((name) => name.replace(DRAFT, "")).filter(isSnapshotId))];
    },
  };
}

// A single image is flushed alone: the whole file system may have much of others to write.
async function flush(folder: string, signal: AbortSignal): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  const isFlat = entries.every((entry) => entry.isFile());
  const args = isFlat ? ["--", ...entries.map(({ name }) => join(folder, name)), folder] : ["-f", folder];
  await mustRun("sync", args, { signal, timeoutMs: COPY_TIMEOUT_MS });
}

async function sizeOf(files: FileRunner, folder: string, signal: AbortSignal): Promise<number> {
  return Number.parseInt(await files.run("du", ["-sx", "--block-size=1", "--", folder], { signal }), 10);
}

interface Copy {
  from: string;
  names: readonly string[];
  to: string;
}

// `cp` shares the blocks of the files if the file system can, and leaves holes where they are.
export async function copyEntries(files: FileRunner, { from, names, to }: Copy, signal: AbortSignal): Promise<void> {
  const paths = names.map((name) => join(from, name));
  await files.run("cp", ["-a", "--reflink=auto", "--sparse=auto", "--", ...paths, to], { signal, timeoutMs: COPY_TIMEOUT_MS });
}
