import { joinPath, nameOf, parentOf } from "../text/paths.ts";
import type { FilesState } from "../state/sandbox/files.ts";

export interface TreeNode {
  path: string;
  name: string;
  folder: boolean;
  link: boolean;
}

// The tree does not accept an empty id for its root.
export const ROOT = "/";

export function treeNode({ folders }: FilesState, id: string): TreeNode {
  const path = folderOf(id);
  const name = nameOf(path);
  const entry = folders[parentOf(path)]?.find((candidate) => candidate.name === name);
  return { path, name, folder: id === ROOT || entry?.type === "folder", link: entry?.type === "link" };
}

export const childPaths = ({ folders }: FilesState, id: string): string[] =>
  (folders[folderOf(id)] ?? []).map(({ name }) => joinPath(folderOf(id), name));

const folderOf = (id: string) => (id === ROOT ? "" : id);
