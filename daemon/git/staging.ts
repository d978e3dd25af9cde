import { rm } from "node:fs/promises";
import { AppError } from "@berth/contract/errors.ts";
import { TEMPORARY_PREFIX } from "../files/walk.ts";
import type { WorkspaceFolder } from "../files/workspace-folder.ts";
import { badRequest, notFound } from "../http/errors.ts";
import type { GitProcess } from "./process/git-process.ts";
import { type RepositoryFile, workspacePath } from "./repositories.ts";
import { type ChangedFile, readChangedFiles } from "./status.ts";

// Git reads the names from its input: there they may be many, and contain any bytes.
const FROM_STDIN = ["--pathspec-from-file=-", "--pathspec-file-nul"];
// Stands for a byte of a name that is no UTF-8.
const UNDECODABLE = "\ufffd";

// Paths are in the repository; null means all files.
export async function stage(git: GitProcess, repository: string, paths: string[] | null): Promise<void> {
  const temporary = `:(exclude,glob)**/${TEMPORARY_PREFIX}*`;
  if (paths === null) await git.write(repository, ["--no-literal-pathspecs", "add", "-A", "--", ".", temporary]);
  else await git.write(repository, ["add", "-A", ...FROM_STDIN], { stdin: await namesOf(git, repository, paths) });
}

// `reset` also works before the first commit. Paths keep it from ending a merge.
export async function unstage(git: GitProcess, repository: string, paths: string[] | null): Promise<void> {
  if (paths === null) await git.write(repository, ["reset", "-q", "--", "."]);
  else await git.write(repository, ["reset", "-q", ...FROM_STDIN], { stdin: await namesOf(git, repository, paths) });
}

// Restores files from the index and deletes untracked ones. A nested repository is never deleted.
export async function discard(workspace: WorkspaceFolder, git: GitProcess, repository: string, paths: string[] | null): Promise<void> {
  const changed = await readChangedFiles(git, repository);
  const chosen = paths === null ? changed.filter(({ file, nested }) => !file.conflict && !nested) : paths.map(find);
  const restored = chosen.filter(({ file }) => file.unstaged !== null && file.unstaged !== "untracked");
  const deleted = chosen.filter(({ file }) => file.unstaged === "untracked");
  if (restored.length > 0)
    await git.write(repository, ["restore", "--worktree", ...FROM_STDIN], { stdin: joinNames(restored.map(({ name }) => name)) });
  for (const { file } of deleted) {
    await using parent = await workspace.pinParent(workspacePath(repository, file.path));
    await rm(parent.at, { recursive: true, force: true });
  }

  function find(path: string): ChangedFile {
    const found = changed.find(({ file }) => file.path === path);
    if (!found) throw notFound("This file has not changed");
    if (found.file.conflict) throw new AppError("git_conflict", { message: "This file has conflicts. Resolve them first" });
    if (found.nested) throw badRequest("This folder is a repository of its own");
    if (found.file.unstaged === "untracked" && path.includes(UNDECODABLE))
      throw badRequest("The name of this file is not UTF-8. Delete it in a terminal");
    return found;
  }
}

// Replaces the staged content of a file. `expectedId` is the id of the content that it replaces.
export async function stageContent(
  git: GitProcess,
  { repository, inner }: RepositoryFile,
  bytes: Buffer,
  expectedId?: string,
): Promise<void> {
  const listed = (await git.read(repository, ["ls-files", "--stage", "-z", "--", inner])).stdout.toString();
  const [, mode, id] = /^(\d+) ([0-9a-f]+) 0\t/.exec(listed) ?? [];
  if (mode === undefined) throw notFound("The file is not in the index");
  if (expectedId !== undefined && expectedId !== id) throw new AppError("changed", { message: "The staged file has changed. Try again" });
  const hashed = await git.write(repository, ["hash-object", "-w", "--stdin", `--path=${inner}`], { stdin: bytes });
  const entry = `${mode} ${hashed.stdout.toString().trim()} 0\t${inner}\0`;
  await git.write(repository, ["update-index", "-z", "--index-info"], { stdin: entry });
}

async function namesOf(git: GitProcess, repository: string, paths: string[]): Promise<Buffer> {
  if (!paths.some((path) => path.includes(UNDECODABLE))) return joinNames(paths.map((path) => Buffer.from(path)));
  const names = new Map((await readChangedFiles(git, repository)).map(({ file, name }) => [file.path, name]));
  return joinNames(paths.map((path) => names.get(path) ?? Buffer.from(path)));
}

const joinNames = (names: Buffer[]) => Buffer.concat(names.flatMap((name) => [name, Buffer.of(0)]));
