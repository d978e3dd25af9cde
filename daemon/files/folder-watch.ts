import { type FSWatcher, watch } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { WatchedChange } from "@berth/contract/daemon/files.ts";
import { AppError } from "@berth/contract/errors.ts";
import { TEMPORARY_PREFIX } from "./walk.ts";

export interface FolderWatchOptions {
  recursive: boolean;
  onChange: (change: WatchedChange) => void;
}

const MAX_FOLDERS = 1000;
const MAX_FILES = 20_000;
// The two halves of a rename arrive one after the other.
const SETTLE_MS = 10;

// Reports every change in a folder by its kind. Node only says that a name changed, so the watch remembers what each name was.
export async function watchFolder(root: string, { recursive, onChange }: FolderWatchOptions): Promise<Disposable> {
  const watchers = new Map<string, FSWatcher>();
  const known = new Map<string, Known>();
  const pending = new Set<string>();
  let timer: NodeJS.Timeout | null = null;
  let isClosed = false;

  await addFolder("", { isNew: false });
  return { [Symbol.dispose]: close };

  function close(): void {
    isClosed = true;
    if (timer) clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
    watchers.clear();
    known.clear();
  }

  // `isNew`: what is in the folder has not been reported.
  async function addFolder(path: string, { isNew }: { isNew: boolean }): Promise<void> {
    if (isClosed || watchers.has(path)) return;
    if (watchers.size >= MAX_FOLDERS) throw new AppError("too_large", { message: `More than ${MAX_FOLDERS} folders cannot be watched` });
    const watcher = watch(join(root, path), { persistent: false }, (_kind, name) => name !== null && note(join(path, name)));
    watcher.on("error", () => drop(path));
    watchers.set(path, watcher);
    for (const { name } of await readdir(join(root, path), { withFileTypes: true })) {
      const child = join(path, name);
      if (isNew) note(child);
      else if (!isTemporary(name)) await remember(child);
    }
  }

  async function remember(path: string): Promise<void> {
    if (known.size >= MAX_FILES) throw new AppError("too_large", { message: `More than ${MAX_FILES} files cannot be watched` });
    const now = await look(path);
    if (!now) return;
    known.set(path, now);
    if (now.isFolder && recursive) await addFolder(path, { isNew: false });
  }

  function note(path: string): void {
    if (isClosed || isTemporary(path.slice(path.lastIndexOf("/") + 1))) return;
    pending.add(path);
    timer ??= setTimeout(() => void compare(), SETTLE_MS);
  }

  async function compare(): Promise<void> {
    const paths = [...pending];
    pending.clear();
    const found = new Map<string, Known | null>();
    for (const path of paths) found.set(path, await look(path));
    timer = null;
    if (pending.size > 0) timer = setTimeout(() => void compare(), SETTLE_MS);
    for (const [path, now] of found) {
      if (isClosed) return;
      report(path, now, [...found.values()]);
      if (!now) drop(path);
      else if (known.size < MAX_FILES || known.has(path)) known.set(path, now);
      if (now?.isFolder && recursive) await addFolder(path, { isNew: true }).catch(() => {});
    }
  }

  function report(path: string, now: Known | null, all: (Known | null)[]): void {
    const was = known.get(path);
    if (!now) {
      if (was) onChange({ type: all.some((other) => other?.inode === was.inode) ? "rename" : "remove", path });
      return;
    }
    if (!was) {
      onChange({ type: "create", path });
      if (!now.isFolder && now.size > 0) onChange({ type: "write", path });
      return;
    }
    if (!now.isFolder && (was.inode !== now.inode || was.size !== now.size || was.modifiedNs !== now.modifiedNs))
      onChange({ type: "write", path });
    else if (was.mode !== now.mode) onChange({ type: "chmod", path });
  }

  function drop(path: string): void {
    for (const [folder, watcher] of watchers) {
      if (folder !== path && !folder.startsWith(`${path}/`)) continue;
      watcher.close();
      watchers.delete(folder);
    }
    for (const name of known.keys()) if (name === path || name.startsWith(`${path}/`)) known.delete(name);
  }

  async function look(path: string): Promise<Known | null> {
    const stats = await lstat(join(root, path), { bigint: true }).catch(() => null);
    if (!stats) return null;
    return { inode: stats.ino, size: stats.size, modifiedNs: stats.mtimeNs, mode: stats.mode, isFolder: stats.isDirectory() };
  }
}

interface Known {
  inode: bigint;
  size: bigint;
  modifiedNs: bigint;
  mode: bigint;
  isFolder: boolean;
}

const isTemporary = (name: string) => name.startsWith(TEMPORARY_PREFIX);
