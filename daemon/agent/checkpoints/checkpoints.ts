import { join } from "node:path";
import type { Checkpoint } from "@berth/contract/agent.ts";
import { AppError } from "@berth/contract/errors.ts";
import type { Workspace } from "../../files/workspace.ts";
import { notFound } from "../../http/errors.ts";
import type { Environment } from "../../processes/environment.ts";
import { type Manifest, openManifests } from "./manifest.ts";
import { openObjectStore } from "./object-store.ts";
import { type Restored, restoreFiles } from "./restore.ts";
import { type ScanLimits, scanWorkspace } from "./scan.ts";

// Copies of the workspace's files, made before each turn of the agent. They are outside the workspace and its repositories.
export interface Checkpoints {
  // Never throws: without a checkpoint the turn goes on, and the note says why there is none.
  take(): Promise<Checkpoint>;
  // Makes a checkpoint of the present files first, and changes only files that are in it.
  restore(id: string): Promise<Restored & { before: Checkpoint }>;
}

export interface CheckpointLimits extends ScanLimits {
  checkpoints: number;
  // Of all contents together. The oldest checkpoints are removed first.
  storeBytes: number;
}

export interface CheckpointsDeps {
  workspace: Workspace;
  environment: Environment;
  folder: string;
  limits?: CheckpointLimits;
}

const MB = 1024 * 1024;
const LIMITS: CheckpointLimits = { files: 10_000, fileBytes: 4 * MB, totalBytes: 100 * MB, checkpoints: 30, storeBytes: 200 * MB };

export function createCheckpoints({ workspace, environment, folder, limits = LIMITS }: CheckpointsDeps): Checkpoints {
  const manifests = openManifests(folder);
  const objects = openObjectStore(join(folder, "objects"));
  let last: Manifest | null = null;
  let working: Promise<unknown> = Promise.resolve();

  return {
    take: () => inTurn(take),
    restore: (id) =>
      inTurn(async () => {
        const target = await manifests.load(id);
        if (!target) throw notFound(`This checkpoint no longer exists. The last ${limits.checkpoints} are kept`);
        const before = await take(id);
        if (before.id === null || last === null) throw new AppError("too_many", { message: before.note });
        return { before, ...(await restoreFiles({ workspace, objects, target, now: last })) };
      }),
  };

  // One at a time, because each builds on the one before.
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = working.then(work);
    working = result.catch(() => {});
    return result;
  }

  async function take(needed?: string): Promise<Checkpoint> {
    try {
      last ??= await newest();
      const scan = await scanWorkspace({ root: workspace.root, environment, objects, known: last?.files ?? new Map(), limits });
      if (scan === null) return { id: null, note: `There is no checkpoint: the workspace has more than ${limits.files} files.` };
      const isSame = last !== null && sameFiles(last, scan.files) && (await manifests.load(last.id)) !== null;
      const manifest = { id: isSame ? last!.id : manifests.newId(), createdAtMs: Date.now(), ...scan };
      await manifests.save(manifest);
      last = manifest;
      if (!isSame) await prune(needed);
      const tooLarge = [...scan.files.values()].filter(({ hash }) => hash === null).length;
      return tooLarge === 0 ? { id: manifest.id } : { id: manifest.id, note: `Not included: ${count(tooLarge, "large file")}.` };
    } catch (error) {
      console.error("A checkpoint could not be made:", error);
      return { id: null, note: "There is no checkpoint: the files could not be copied. The disk may be full." };
    }
  }

  async function newest(): Promise<Manifest | null> {
    const id = (await manifests.list()).at(-1);
    return id === undefined ? null : await manifests.load(id);
  }

  // Removes the oldest checkpoints. The newest one and the needed one stay.
  async function prune(needed: string | undefined): Promise<void> {
    const ids = (await manifests.list()).filter((id) => id !== needed);
    const remove = (id: string | undefined) => (id === undefined ? undefined : manifests.remove(id));
    while (ids.length > limits.checkpoints) await remove(ids.shift());
    while ((await objects.keepOnly(await hashesOf(needed === undefined ? ids : [...ids, needed]))) > limits.storeBytes && ids.length > 1)
      await remove(ids.shift());
  }

  async function hashesOf(ids: string[]): Promise<Set<string>> {
    const hashes = new Set<string>();
    for (const id of ids) for (const { hash } of (await manifests.load(id))?.files.values() ?? []) if (hash !== null) hashes.add(hash);
    return hashes;
  }
}

function sameFiles(last: Manifest, files: Manifest["files"]): boolean {
  if (last.files.size !== files.size) return false;
  return [...files].every(([path, { hash, mode, version }]) => {
    const before = last.files.get(path);
    return before !== undefined && before.mode === mode && (hash === null ? before.version === version : before.hash === hash);
  });
}

export const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;
