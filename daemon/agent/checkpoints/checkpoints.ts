import { join } from "node:path";
import type { Checkpoint } from "@berth/contract/agent.ts";
import { AppError } from "@berth/contract/errors.ts";
import type { WorkspaceFolder } from "../../files/workspace-folder.ts";
import { notFound } from "../../http/errors.ts";
import type { Environment } from "../../programs/environment.ts";
import { type Entries, isSame, type Kept, type Manifest, openManifests } from "./manifest.ts";
import { type ObjectStore, openObjectStore } from "./object-store.ts";
import { type Restored, restoreFiles } from "./restore.ts";
import { type ScanLimits, scanWorkspace } from "./scan.ts";
import { isBelow, isGenerated } from "./workspace-files.ts";

// Copies of the workspace's files, made before and after each turn of the agent. They are outside the workspace and its repositories.
export interface Checkpoints {
  // Never throws: without a checkpoint the turn goes on, and the note says why there is none.
  take(): Promise<Checkpoint>;
  // The differences between two checkpoints; null if one of them no longer exists.
  between(before: string, after: string): Promise<Difference[] | null>;
  // The differences between a checkpoint and the present files, without a checkpoint of these; null if they are not known.
  since(before: string): Promise<Difference[] | null>;
  // Makes a checkpoint of the present files first, and changes only files that are in it.
  restore(id: string): Promise<Restored & { before: Checkpoint }>;
  // Whether checkpoints contain this path, which need not exist.
  covers(path: string): boolean;
  readonly objects: ObjectStore;
}

// One path that differs. undefined means that nothing is there.
export interface Difference {
  path: string;
  before: Kept | undefined;
  after: Kept | undefined;
}

export interface CheckpointLimits extends ScanLimits {
  checkpoints: number;
  // The size of all contents and lists of files together. The oldest checkpoints are removed first.
  storeBytes: number;
}

export interface CheckpointsDeps {
  workspace: WorkspaceFolder;
  environment: Environment;
  folder: string;
  limits?: CheckpointLimits;
}

const MB = 1024 * 1024;
const LIMITS: CheckpointLimits = { files: 50_000, fileBytes: 4 * MB, totalBytes: 100 * MB, checkpoints: 60, storeBytes: 200 * MB };
const SLACK = 0.2;

export function createCheckpoints({ workspace, environment, folder, limits = LIMITS }: CheckpointsDeps): Checkpoints {
  const manifests = openManifests(folder);
  const objects = openObjectStore(join(folder, "objects"));
  let last: Manifest | null = null;
  // The latest scan, so that the next one reads only files that have changed.
  let known: Pick<Manifest, "entries" | "ignored"> | null = null;
  let working: Promise<unknown> = Promise.resolve();

  return {
    objects,
    take: () => inTurn(take),
    between: (before, after) =>
      inTurn(async () => {
        const [from, to] = [await manifests.load(before), await manifests.load(after)];
        return from && to && differences(from, to.entries);
      }),
    since: (id) =>
      inTurn(async () => {
        const [from, scanned] = [await manifests.load(id), await scan()];
        return from && scanned && differences(from, scanned.entries);
      }),
    restore: (id) =>
      inTurn(async () => {
        const target = await manifests.load(id);
        if (!target) throw notFound(`This checkpoint no longer exists. The last ${limits.checkpoints} are kept`);
        const before = await take(id);
        if (before.id === null || last === null) throw new AppError("too_many", { message: before.note });
        return { before, ...(await restoreFiles({ workspace, objects, target, now: last })) };
      }),
    covers: (path) => !isGenerated(path) && !isBelow(path, known?.ignored ?? new Set()),
  };

  // One at a time, because each builds on the one before.
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = working.then(work);
    working = result.catch(() => {});
    return result;
  }

  async function scan(): Promise<Pick<Manifest, "entries" | "ignored"> | null> {
    known ??= last ??= await newest();
    const scanned = await scanWorkspace({ root: workspace.root, environment, objects, known: known?.entries ?? new Map(), limits });
    known = scanned ?? known;
    return scanned;
  }

  async function take(needed?: string): Promise<Checkpoint> {
    try {
      const scanned = await scan();
      if (scanned === null) return { id: null, note: `There is no checkpoint: the workspace has more than ${limits.files} files.` };
      const isKnown = last !== null && isSameTree(last.entries, scanned.entries) && (await manifests.load(last.id)) !== null;
      const manifest = { id: isKnown ? last!.id : manifests.newId(), createdAtMs: Date.now(), ...scanned };
      await manifests.save(manifest);
      last = manifest;
      if (!isKnown) await prune(needed);
      const missing = [...scanned.entries.values()].filter((kept) => kept.kind === "file" && kept.hash === null).length;
      if (missing === 0) return { id: manifest.id };
      return { id: manifest.id, note: `Not included: ${count(missing, "large or unreadable file")}.` };
    } catch (error) {
      console.error("A checkpoint could not be made:", error);
      return { id: null, note: "There is no checkpoint: the files could not be copied. The disk may be full." };
    }
  }

  async function newest(): Promise<Manifest | null> {
    const id = (await manifests.list()).at(-1);
    return id === undefined ? null : await manifests.load(id);
  }

  // Removes the oldest checkpoints. The newest two, which are those of a turn, and the needed one stay. Reading all lists of files
  // takes a while in a large workspace, so this happens seldom.
  async function prune(needed: string | undefined): Promise<void> {
    const ids = (await manifests.list()).filter((id) => id !== needed);
    const isDue = ids.length > limits.checkpoints * (1 + SLACK) || objects.addedBytes > limits.storeBytes * SLACK;
    if (!isDue) return;
    while (ids.length > limits.checkpoints) await manifests.remove(ids.shift()!);
    while ((await usedBytes(needed === undefined ? ids : [...ids, needed])) > limits.storeBytes && ids.length > 2)
      await manifests.remove(ids.shift()!);
  }

  // Removes all contents that these checkpoints do not need.
  async function usedBytes(ids: string[]): Promise<number> {
    const hashes = new Set<string>();
    let bytes = 0;
    for (const id of ids) {
      bytes += await manifests.bytesOf(id);
      for (const kept of (await manifests.load(id))?.entries.values() ?? [])
        if (kept.kind === "file" && kept.hash !== null) hashes.add(kept.hash);
    }
    return bytes + (await objects.keepOnly(hashes));
  }
}

// Paths that Git ignored before are not new if Git ignores them no longer.
function differences({ entries: before, ignored }: Manifest, after: Entries): Difference[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return paths
    .filter((path) => !isSame(before.get(path), after.get(path)) && (before.has(path) || !isBelow(path, ignored)))
    .map((path) => ({ path, before: before.get(path), after: after.get(path) }));
}

const isSameTree = (a: Entries, b: Entries): boolean => a.size === b.size && [...b].every(([path, kept]) => isSame(a.get(path), kept));

export const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;
