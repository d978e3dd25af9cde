import { openStorage } from "../../browser/storage.ts";
import { isWithin, movedPath } from "../../text/paths.ts";

const MAX_FILES = 100;

export type RecentFiles = ReturnType<typeof createRecentFiles>;

// The files that were shown last, newest first. The browser stores them for each sandbox.
export function createRecentFiles(sandboxId: string) {
  const stored = openStorage<{ paths: string[] }>(`berth.recent.${sandboxId}`, { paths: [] });
  let paths = Array.isArray(stored.value.paths) ? stored.value.paths.filter((path) => typeof path === "string") : [];
  const set = (next: string[]) => {
    paths = next.slice(0, MAX_FILES);
    stored.save({ paths });
  };
  return {
    list: (): readonly string[] => paths,
    add(path: string) {
      if (paths[0] !== path) set([path, ...paths.filter((other) => other !== path)]);
    },
    remove(path: string) {
      if (paths.some((other) => isWithin(other, path))) set(paths.filter((other) => !isWithin(other, path)));
    },
    moved(from: string, to: string) {
      if (paths.some((path) => isWithin(path, from))) set(paths.map((path) => (isWithin(path, from) ? movedPath(path, from, to) : path)));
    },
  };
}
