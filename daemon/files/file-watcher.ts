import { type FSWatcher, watch } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxEvent } from "@berth/contract/daemon.ts";
import { typeOf } from "./files.ts";
import { TEMPORARY_PREFIX } from "./walk.ts";

export type FilesEvent = Extract<SandboxEvent, { type: "files" }>;

// Watches the workspace, one watch per folder. Folders with generated content are watched but not their subfolders, unless
// a browser shows them.
export interface FileWatcher {
  start(): void;
  stop(): void;
  // Watches a folder that a browser shows, wherever it is.
  include: (path: string) => void;
}

const SHALLOW = new Set(["node_modules", ".git", ".venv", "__pycache__", "target", ".next", ".cache"]);
const MAX_FOLDERS = 4000;
const MAX_NAMED = 500;
const COALESCE_MS = 50;

export function createFileWatcher(root: string, report: (event: FilesEvent) => void): FileWatcher {
  const watchers = new Map<string, FSWatcher>();
  const pending = new Set<string>();
  let overflow = false;
  let running = false;
  let timer: NodeJS.Timeout | null = null;

  return {
    start() {
      if (running) return;
      running = true;
      void watchAll();
    },
    stop() {
      running = false;
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
      pending.clear();
      if (timer) clearTimeout(timer);
      timer = null;
    },
    include(path) {
      if (running) addFolder(path);
    },
  };

  // A change in a folder is not seen before the folder is watched, so listeners read everything again at the end.
  async function watchAll(): Promise<void> {
    await addTree("", () => {});
    if (running && watchers.size > 1) report({ type: "files", changes: [], overflow: true });
  }

  // Breadth first, so that the limit leaves out the deepest folders.
  async function addTree(path: string, onEntry: (path: string) => void): Promise<void> {
    const queue = [path];
    for (let folder = queue.shift(); folder !== undefined && running; folder = queue.shift()) {
      if (!addFolder(folder)) return;
      if (SHALLOW.has(lastPart(folder))) continue;
      for (const entry of await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])) {
        const child = folder === "" ? entry.name : `${folder}/${entry.name}`;
        onEntry(child);
        if (entry.isDirectory()) queue.push(child);
      }
    }
  }

  function addFolder(path: string): boolean {
    if (watchers.has(path)) return true;
    if (watchers.size >= MAX_FOLDERS) return false;
    try {
      const watcher = watch(join(root, path), { persistent: false }, (_kind, name) => {
        if (name !== null && !name.startsWith(TEMPORARY_PREFIX)) noteChange(path === "" ? name : `${path}/${name}`);
      });
      watcher.on("error", () => drop(path));
      watchers.set(path, watcher);
      return true;
    } catch {
      // The folder was deleted or is not readable, or the kernel's limit of watches is reached.
      return false;
    }
  }

  function drop(path: string): void {
    for (const [folder, watcher] of watchers) {
      if (folder !== path && !folder.startsWith(`${path}/`)) continue;
      watcher.close();
      watchers.delete(folder);
    }
  }

  function noteChange(path: string): void {
    if (pending.size < MAX_NAMED) pending.add(path);
    else overflow ||= !pending.has(path);
    timer ??= setTimeout(() => void flush(), COALESCE_MS);
  }

  async function flush(): Promise<void> {
    const paths = [...pending];
    const event: FilesEvent = { type: "files", changes: [], overflow };
    pending.clear();
    overflow = false;
    timer = null;
    for (const path of paths) {
      const stats = await lstat(join(root, path)).catch(() => null);
      event.changes.push(stats ? { path, kind: "changed", type: typeOf(stats) } : { path, kind: "deleted" });
      if (!stats) drop(path);
      else if (stats.isDirectory() && running && !watchers.has(path) && !SHALLOW.has(lastPart(path.slice(0, -lastPart(path).length - 1)))) {
        await addTree(path, noteChange);
      }
    }
    if (running) report(event);
  }
}

const lastPart = (path: string) => path.slice(path.lastIndexOf("/") + 1);
