import { createStore } from "zustand/vanilla";
import type { FileChange, NamedEntry } from "@berth/contract/daemon.ts";
import { ApiError, type Api } from "../../connection/api.ts";
import { describeError } from "../page/notices.ts";
import { isWithin, nameOf, parentOf } from "../../text/paths.ts";

export interface FilesState {
  // The entries of each folder that has been read.
  folders: Record<string, NamedEntry[]>;
  truncated: Record<string, boolean>;
  // Why a folder could not be read.
  errors: Record<string, string>;
  // The names in each folder that Git ignores.
  ignored: Record<string, ReadonlySet<string>>;
  // Increases with every change on disk.
  version: number;
}

export type Files = ReturnType<typeof createFiles>;

// The folders that have been read, kept current by change events.
export function createFiles(api: Api) {
  const store = createStore<FilesState>(() => ({ folders: {}, truncated: {}, errors: {}, ignored: {}, version: 0 }));
  const loading = new Map<string, Promise<void>>();
  // Reads that start after the running one, which may have missed the latest change.
  const waiting = new Map<string, Promise<void>>();

  function load(path: string): Promise<void> {
    const running = loading.get(path);
    if (running) {
      const next = waiting.get(path) ?? running.then(() => loadAgain(path));
      waiting.set(path, next);
      return next;
    }
    const work = read(path).finally(() => loading.delete(path));
    loading.set(path, work);
    return work;
  }

  function loadAgain(path: string): Promise<void> {
    waiting.delete(path);
    return load(path);
  }

  async function read(path: string): Promise<void> {
    try {
      const { entries, truncated } = await api.listFolder(path);
      store.setState((state) => {
        const known = state.folders[path];
        // A new list renders the tree again, so an equal one is dropped.
        if (known && !state.errors[path] && state.truncated[path] === truncated && sameEntries(known, entries)) return state;
        return {
          folders: { ...state.folders, [path]: entries },
          truncated: { ...state.truncated, [path]: truncated },
          errors: without(state.errors, path),
        };
      });
      void readIgnored(path);
    } catch (error) {
      if (isGone(error)) return forget(path);
      store.setState((state) => ({ errors: { ...state.errors, [path]: describeError(error) } }));
    }
  }

  // Only for looks, so a failure does not matter.
  async function readIgnored(path: string): Promise<void> {
    if (!isInRepository(path)) return;
    const { names } = await api.listIgnored(path).catch(() => ({ names: [] }));
    const known = store.getState().ignored[path];
    if ((known?.size ?? 0) === names.length && names.every((name) => known?.has(name))) return;
    store.setState(({ ignored }) => ({ ignored: { ...ignored, [path]: new Set(names) } }));
  }

  function isInRepository(folder: string): boolean {
    const entries = store.getState().folders[folder] ?? [];
    return entries.some(isGit) || (folder !== "" && isInRepository(parentOf(folder)));
  }

  function forget(folder: string): void {
    if (folder === "") return;
    store.setState(({ folders }) => ({ folders: Object.fromEntries(Object.entries(folders).filter(([path]) => !isWithin(path, folder))) }));
  }

  const entryAt = (path: string): NamedEntry | undefined => {
    const siblings = store.getState().folders[parentOf(path)] ?? [];
    const index = indexesByName(siblings).get(nameOf(path));
    return index === undefined ? undefined : siblings[index];
  };

  // A file that was only written changes nothing in the list of its folder.
  function staleFolders(changes: readonly FileChange[]): Set<string> {
    const known = store.getState().folders;
    const isKnown = (folder: string) => known[folder] !== undefined || loading.has(folder);
    const stale = new Set<string>();
    for (const { path, type } of changes) {
      if (isKnown(path)) stale.add(path);
      const folder = parentOf(path);
      const isListed = type !== undefined && type !== "link" && !loading.has(folder) && entryAt(path)?.type === type;
      if (isKnown(folder) && !isListed) stale.add(folder);
    }
    return stale;
  }

  return {
    store,
    // Reads a folder unless it is known.
    ensure: (path: string) => (store.getState().folders[path] === undefined ? (loading.get(path) ?? load(path)) : Promise.resolve()),
    reload: load,
    // Whether a name is free in a folder, as far as the folder is known.
    isFree: (path: string) => entryAt(path) === undefined,
    reloadAll: () => Promise.all(Object.keys({ "": [], ...store.getState().folders }).map(load)),
    // The known entry of a path.
    entryAt,
    changed(changes: readonly FileChange[]) {
      store.setState(({ version }) => ({ version: version + 1 }));
      for (const folder of staleFolders(changes)) void load(folder);
      const rulesChanged = changes.some(({ path }) => nameOf(path) === ".gitignore");
      if (rulesChanged) for (const folder of Object.keys(store.getState().folders)) void readIgnored(folder);
    },
    async createFile(path: string) {
      await api.writeFile(path, "", null);
      await load(parentOf(path));
    },
    async createFolder(path: string) {
      await api.makeFolder(path);
      await load(parentOf(path));
    },
    async copy(from: string, to: string) {
      await api.copy({ from, to });
      await load(parentOf(to));
    },
    async move(from: string, to: string) {
      await api.move({ from, to });
      forget(from);
      await Promise.all([...new Set([from, to].map(parentOf))].map(load));
    },
    // Returns the id of the deletion, for `restore`.
    async trash(paths: readonly string[]): Promise<string> {
      const { id } = await api.trash(paths);
      for (const path of paths) forget(path);
      await Promise.all([...new Set(paths.map(parentOf))].map(load));
      return id;
    },
    async restore(id: string): Promise<string[]> {
      const { paths } = await api.restore(id);
      await Promise.all([...new Set(paths.map(parentOf))].map(load));
      return paths;
    },
    async remove(path: string) {
      await api.remove(path);
      forget(path);
      await load(parentOf(path));
    },
  };
}

export const isFolder = ({ type, target }: NamedEntry): boolean => type === "folder" || target === "folder";

// The repository's own data. In a worktree it is a file.
export const isGit = ({ name }: NamedEntry): boolean => name === ".git";

// The name of the folder that is the only entry of its parent, or null. The tree shows both in one row.
export function onlyFolderIn(entries: NamedEntry[] | undefined): string | null {
  const [first] = entries ?? [];
  return entries?.length === 1 && first?.type === "folder" && !isGit(first) ? first.name : null;
}

const knownIndexes = new WeakMap<NamedEntry[], ReadonlyMap<string, number>>();

export function indexesByName(entries: NamedEntry[]): ReadonlyMap<string, number> {
  const known = knownIndexes.get(entries);
  if (known) return known;
  const indexes = new Map<string, number>();
  for (const [i, { name }] of entries.entries()) indexes.set(name, i);
  knownIndexes.set(entries, indexes);
  return indexes;
}

const sameEntries = (a: NamedEntry[], b: NamedEntry[]): boolean =>
  a.length === b.length && a.every(({ name, type, target }, i) => name === b[i]?.name && type === b[i]?.type && target === b[i]?.target);

const isGone = (error: unknown) => error instanceof ApiError && error.status === 404;

function without<T>(record: Record<string, T>, key: string): Record<string, T> {
  const { [key]: _removed, ...rest } = record;
  return rest;
}
