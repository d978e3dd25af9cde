import { createStore } from "zustand/vanilla";
import type { FileEntry } from "@berth/contract/daemon.ts";
import { ApiError, type Api } from "../../connection/api.ts";
import { isWithin, joinPath, parentOf } from "../../text/paths.ts";

export interface FilesState {
  // What is known of each folder that has been looked into.
  folders: Record<string, FileEntry[]>;
  truncated: Record<string, boolean>;
  // Why a folder could not be read.
  faults: Record<string, string>;
  // Grows with every change on disk, for those who follow all of them.
  version: number;
}

export type Files = ReturnType<typeof createFiles>;

// The folders that were looked into, kept as they are on disk.
export function createFiles(api: Api) {
  const store = createStore<FilesState>(() => ({ folders: {}, truncated: {}, faults: {}, version: 0 }));
  const loading = new Map<string, Promise<void>>();
  // A change that arrives while its folder is being read must lead to another reading.
  const again = new Set<string>();

  function load(path: string): Promise<void> {
    const running = loading.get(path);
    if (running) {
      again.add(path);
      return running;
    }
    const work = read(path).finally(() => {
      loading.delete(path);
      if (again.delete(path)) void load(path);
    });
    loading.set(path, work);
    return work;
  }

  async function read(path: string): Promise<void> {
    try {
      const { entries, truncated } = await api.listFolder(path);
      store.setState((state) => ({
        folders: { ...state.folders, [path]: entries },
        truncated: { ...state.truncated, [path]: truncated },
        faults: without(state.faults, path),
      }));
    } catch (error) {
      if (isGone(error)) return forget(path);
      store.setState((state) => ({ faults: { ...state.faults, [path]: error instanceof Error ? error.message : "cannot be read" } }));
    }
  }

  function forget(folder: string): void {
    if (folder === "") return;
    store.setState(({ folders }) => ({ folders: Object.fromEntries(Object.entries(folders).filter(([path]) => !isWithin(path, folder))) }));
  }

  return {
    store,
    load,
    // Looks at a folder once; later it is kept by events.
    ensure: (path: string) => (store.getState().folders[path] === undefined ? (loading.get(path) ?? load(path)) : Promise.resolve()),
    reloadAll: () => Promise.all(Object.keys({ "": [], ...store.getState().folders }).map(load)),
    changed(paths: string[]) {
      store.setState(({ version }) => ({ version: version + 1 }));
      const known = store.getState().folders;
      const touched = new Set(paths.map(parentOf).filter((folder) => known[folder] !== undefined));
      for (const path of paths) if (known[path] !== undefined) touched.add(path);
      for (const folder of touched) void load(folder);
    },
    entry(path: string): FileEntry | undefined {
      const name = path.slice(path.lastIndexOf("/") + 1);
      return store.getState().folders[parentOf(path)]?.find((entry) => entry.name === name);
    },
    async createFile(path: string) {
      await api.writeFile(path, "", null);
      await load(parentOf(path));
    },
    async createFolder(path: string) {
      await api.makeFolder(path);
      await load(parentOf(path));
    },
    async move(from: string, to: string) {
      await api.move({ from, to });
      forget(from);
      await Promise.all([load(parentOf(from)), load(parentOf(to))]);
    },
    async remove(path: string) {
      await api.remove(path);
      forget(path);
      await load(parentOf(path));
    },
    // Gives back what was left alone because a file of that name is there.
    async upload(folder: string, files: Upload[], { replace }: { replace: boolean }): Promise<Upload[]> {
      const left: Upload[] = [];
      for (const upload of files) {
        const written = api.writeFile(joinPath(folder, upload.path), upload.file, replace ? undefined : null);
        await written.catch((error: unknown) => {
          if (replace || !isTaken(error)) throw error;
          left.push(upload);
        });
      }
      await load(folder);
      return left;
    },
  };
}

// A file under a name, with folders, below the one that it was dropped on.
export interface Upload {
  path: string;
  file: File;
}

const isTaken = (error: unknown) => error instanceof ApiError && error.status === 412;
const isGone = (error: unknown) => error instanceof Error && "status" in error && error.status === 404;

function without<T>(record: Record<string, T>, key: string): Record<string, T> {
  const { [key]: _left, ...rest } = record;
  return rest;
}
