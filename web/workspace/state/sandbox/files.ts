import { createStore } from "zustand/vanilla";
import type { FileEntry } from "@berth/contract/daemon.ts";
import { ApiError, type Api } from "../../connection/api.ts";
import { describeError } from "../page/notices.ts";
import { isWithin, joinPath, parentOf } from "../../text/paths.ts";

export interface FilesState {
  // The entries of each folder that has been read.
  folders: Record<string, FileEntry[]>;
  truncated: Record<string, boolean>;
  // Why a folder could not be read.
  errors: Record<string, string>;
  // Increases with every change on disk.
  version: number;
}

export type Files = ReturnType<typeof createFiles>;

// The folders that have been read, kept current by change events.
export function createFiles(api: Api) {
  const store = createStore<FilesState>(() => ({ folders: {}, truncated: {}, errors: {}, version: 0 }));
  const loading = new Map<string, Promise<void>>();
  // Folders that changed while they were being read.
  const reloadAfterLoad = new Set<string>();

  function load(path: string): Promise<void> {
    const running = loading.get(path);
    if (running) {
      reloadAfterLoad.add(path);
      return running;
    }
    const work = read(path).finally(() => {
      loading.delete(path);
      if (reloadAfterLoad.delete(path)) void load(path);
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
        errors: without(state.errors, path),
      }));
    } catch (error) {
      if (isGone(error)) return forget(path);
      store.setState((state) => ({ errors: { ...state.errors, [path]: describeError(error) } }));
    }
  }

  function forget(folder: string): void {
    if (folder === "") return;
    store.setState(({ folders }) => ({ folders: Object.fromEntries(Object.entries(folders).filter(([path]) => !isWithin(path, folder))) }));
  }

  return {
    store,
    // Reads a folder unless it is known.
    ensure: (path: string) => (store.getState().folders[path] === undefined ? (loading.get(path) ?? load(path)) : Promise.resolve()),
    reloadAll: () => Promise.all(Object.keys({ "": [], ...store.getState().folders }).map(load)),
    changed(paths: string[]) {
      store.setState(({ version }) => ({ version: version + 1 }));
      const known = store.getState().folders;
      const touched = new Set(paths.map(parentOf).filter((folder) => known[folder] !== undefined));
      for (const path of paths) if (known[path] !== undefined) touched.add(path);
      for (const folder of touched) void load(folder);
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
    // Returns the uploads that were skipped because the file exists.
    async upload(folder: string, files: Upload[], { replace }: { replace: boolean }): Promise<Upload[]> {
      const skipped: Upload[] = [];
      for (const upload of files) {
        const written = api.writeFile(joinPath(folder, upload.path), upload.file, replace ? undefined : null);
        await written.catch((error: unknown) => {
          if (replace || !fileExists(error)) throw error;
          skipped.push(upload);
        });
      }
      await load(folder);
      return skipped;
    },
  };
}

// A file and its path below the folder that it is uploaded to.
export interface Upload {
  path: string;
  file: File;
}

const fileExists = (error: unknown) => error instanceof ApiError && error.status === 412;
const isGone = (error: unknown) => error instanceof ApiError && error.status === 404;

function without<T>(record: Record<string, T>, key: string): Record<string, T> {
  const { [key]: _removed, ...rest } = record;
  return rest;
}
