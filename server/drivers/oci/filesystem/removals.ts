import { existsSync, readdirSync, renameSync, statSync } from "node:fs";
import { readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSemaphore } from "../../../fairness/semaphore.ts";
import { plainRunner, type FileRunner } from "../../host/file-runner.ts";

// Deletes the folders of sandboxes that have ended, in the background: releasing a volume takes longer than everything else in
// a destroy. A folder is first renamed. If this process dies, the next one finds it under that name.
export interface Removals extends AsyncDisposable {
  // Resolves when the folder is out of the way and its deletion has begun. No-op if the folder does not exist.
  begin(name: string): Promise<void>;
  // Waits for the deletion, and repeats it if it has failed or if another process has begun it. No-op if there is none.
  finish(name: string): Promise<void>;
  // The names of folders that are not deleted yet, and that no process deletes now.
  unfinished(): string[];
}

export interface RemovalsOptions {
  // The parent of the folders.
  parent: string;
  // Releases the mounts in the folder.
  release(folder: string): Promise<void>;
  onError(name: string, error: unknown): void;
  files?: FileRunner;
}

// Followed by the id of the process that deletes the folder.
const MARK = ".removed-";
const MAX_CONCURRENT = 8;
// The destroy answers first: the release of a volume keeps the disk busy, and the destroy has to write to its database.
const DELAY_MS = 25;
// A folder that is older was left behind, even if a process with that id runs.
const MAX_AGE_MS = 60_000;

export function createRemovals({ parent, release, onError, files = plainRunner }: RemovalsOptions): Removals {
  const running = new Map<string, Promise<void>>();
  // With many destroys at once, each one waits until an earlier deletion has ended.
  const limit = createSemaphore({ permits: MAX_CONCURRENT });
  const task = { holder: null, signal: new AbortController().signal };

  async function remove(folder: string): Promise<void> {
    await release(folder);
    await deleteFolder(files, folder);
  }

  async function finish(name: string): Promise<void> {
    await running.get(name)?.catch(() => undefined);
    for (const { entry } of listRemoved(parent).filter((removed) => removed.name === name))
      await limit(task, () => remove(join(parent, entry)));
  }

  return {
    finish,

    async begin(name) {
      if (!existsSync(join(parent, name))) return;
      await finish(name);
      const folder = join(parent, `${name}${MARK}${process.pid}`);
      renameSync(join(parent, name), folder);
      const begun = Promise.withResolvers<void>();
      const removal = limit(task, async () => {
        begun.resolve();
        await sleep(DELAY_MS);
        await remove(folder);
      }).finally(() => running.delete(name));
      running.set(name, removal);
      removal.catch((error: unknown) => onError(name, error));
      await begun.promise;
    },

    unfinished: () =>
      listRemoved(parent)
        .filter(({ name, entry, pid }) => (pid === process.pid ? !running.has(name) : !isAtWork(join(parent, entry), pid)))
        .map(({ name }) => name),

    async [Symbol.asyncDispose]() {
      await Promise.allSettled(running.values());
    },
  };
}

function listRemoved(parent: string): { entry: string; name: string; pid: number }[] {
  const entries = existsSync(parent) ? readdirSync(parent).filter((entry) => entry.includes(MARK)) : [];
  return entries.map((entry) => {
    const at = entry.indexOf(MARK);
    return { entry, name: entry.slice(0, at), pid: Number(entry.slice(at + MARK.length)) };
  });
}

function isAtWork(folder: string, pid: number): boolean {
  const renamedMs = statSync(folder, { throwIfNoEntry: false })?.ctimeMs;
  // It was deleted just now.
  if (renamedMs === undefined) return true;
  return existsSync(`/proc/${pid}`) && Date.now() - renamedMs < MAX_AGE_MS;
}

async function deleteFolder(files: FileRunner, folder: string): Promise<void> {
  try {
    for (const entry of await readdir(folder, { withFileTypes: true }))
      await (entry.isDirectory() ? rmdir(join(folder, entry.name)) : unlink(join(folder, entry.name)));
    await rmdir(folder);
  } catch {
    // A volume without a limit is a folder with any content. Node fails on trees that are deeper than the longest path.
    await files.run("rm", ["-rf", "--one-file-system", "--", folder]);
  }
}
