import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@berth/contract/errors.ts";
import { parsePath } from "../files/workspace-folder.ts";
import { badRequest, notFound } from "../http/errors.ts";

// The repositories of a workspace: the workspace itself, or folders directly below it.
export interface Repositories {
  // Paths relative to the workspace; "" is the workspace itself.
  list(): string[];
  // The repository with this path, or the first one. Throws if there is none.
  choose(path: unknown): string;
  // The repository of a file, and the file's path in it; null if there is none.
  find(path: string): RepositoryFile | null;
  // The same, or an error.
  locate(path: string): RepositoryFile;
}

export interface RepositoryFile {
  repository: string;
  inner: string;
}

const MAX_REPOSITORIES = 20;

export function createRepositories(root: string): Repositories {
  return { list, choose, find, locate };

  function list(): string[] {
    if (existsSync(join(root, ".git"))) return [""];
    const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return folders
      .map(({ name }) => name)
      .filter((name) => existsSync(join(root, name, ".git")))
      .slice(0, MAX_REPOSITORIES);
  }

  function choose(path: unknown): string {
    if (path !== undefined && path !== null && typeof path !== "string") throw badRequest("repository must be a string");
    const all = list();
    const chosen = typeof path === "string" && path !== "" ? all.find((each) => each === parsePath(path)) : all[0];
    if (chosen !== undefined) return chosen;
    if (all.length === 0) throw new AppError("git_no_repository");
    throw notFound("There is no such repository");
  }

  function find(path: string): RepositoryFile | null {
    for (const repository of list()) {
      if (repository === "") return { repository, inner: path };
      if (path.startsWith(`${repository}/`)) return { repository, inner: path.slice(repository.length + 1) };
    }
    return null;
  }

  function locate(path: string): RepositoryFile {
    const found = find(parsePath(path));
    if (found === null || found.inner === "") throw new AppError("git_no_repository");
    return found;
  }
}

// A path in a repository as a path in the workspace.
export const workspacePath = (repository: string, inner: string): string => (repository === "" ? inner : `${repository}/${inner}`);
