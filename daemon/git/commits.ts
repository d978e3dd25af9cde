import { AppError } from "@berth/contract/errors.ts";
import type { CommitRequest, GitIdentity, GitOperation, GitRemote, SyncRequest } from "@berth/contract/git.ts";
import { badRequest } from "../http/errors.ts";
import type { GitOptions, GitProcess } from "./process/git-process.ts";
import { readStatus } from "./status.ts";

// Hooks may run a project's tests, and a push may be large.
const LONG_MS = 10 * 60_000;

export async function commit(git: GitProcess, repository: string, { message, amend }: CommitRequest, options: GitOptions): Promise<void> {
  const from = message === undefined ? ["--no-edit"] : ["-F", "-"];
  const args = ["commit", ...from, ...(amend ? ["--amend"] : [])];
  await git.write(repository, args, { ...options, timeoutMs: LONG_MS, ...(message === undefined ? {} : { stdin: message }) });
}

// Pushes the branch. A branch that follows no remote branch is published under its own name.
export async function push(git: GitProcess, repository: string, options: GitOptions): Promise<void> {
  const { branch, upstream, remotes } = await readStatus(git, repository, options);
  if (branch === null) throw new AppError("git_blocked", { message: "You are not on a branch. Create one first" });
  const remote = remotes.includes("origin") ? "origin" : remotes[0];
  if (remote === undefined) throw new AppError("git_no_remote");
  const publish = upstream === null ? ["--set-upstream", remote, `HEAD:refs/heads/${branch}`] : [];
  await git.write(repository, ["push", "--progress", ...publish], { ...options, timeoutMs: LONG_MS });
}

export async function pull(git: GitProcess, repository: string, { reconcile }: SyncRequest, options: GitOptions): Promise<void> {
  const how = reconcile === undefined ? [] : [reconcile === "rebase" ? "--rebase" : "--no-rebase"];
  await git.write(repository, ["pull", "--progress", "--no-edit", ...how], { ...options, timeoutMs: LONG_MS });
}

export async function fetchRemote(git: GitProcess, repository: string, options: GitOptions): Promise<void> {
  await git.write(repository, ["fetch", "--progress"], { ...options, timeoutMs: LONG_MS });
}

// Continues an operation whose conflicts are resolved.
export async function continueOperation(git: GitProcess, repository: string, options: GitOptions): Promise<void> {
  const operation = await operationOf(git, repository);
  await git.write(repository, [operation, "--continue"], { ...options, timeoutMs: LONG_MS });
}

export async function abortOperation(git: GitProcess, repository: string): Promise<void> {
  await git.write(repository, [await operationOf(git, repository), "--abort"]);
}

async function operationOf(git: GitProcess, repository: string): Promise<GitOperation> {
  const { operation } = await readStatus(git, repository);
  if (operation === null) throw badRequest("No merge or other operation is in progress");
  return operation;
}

// Makes the workspace a repository. Its branch is called as git is configured, or else main.
export async function initialize(git: GitProcess): Promise<void> {
  const { stdout } = await git.read("", ["config", "--get", "init.defaultBranch"], { expect: [0, 1] });
  await git.write("", ["init", "-q", ...(stdout.toString().trim() === "" ? ["--initial-branch=main"] : [])]);
}

export async function setIdentity(git: GitProcess, { name, email }: GitIdentity): Promise<void> {
  await git.write("", ["config", "--global", "--replace-all", "user.name", name]);
  await git.write("", ["config", "--global", "--replace-all", "user.email", email]);
}

export async function addRemote(git: GitProcess, repository: string, { name, url }: GitRemote): Promise<void> {
  const { stdout } = await git.read(repository, ["remote"]);
  if (stdout.toString().split("\n").includes(name)) throw new AppError("exists", { message: "There is a remote with this name already" });
  await git.write(repository, ["remote", "add", name, url]);
}
