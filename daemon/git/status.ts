import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type { GitChangeKind, GitFile, GitOperation, GitRepository } from "@berth/contract/git.ts";
import { AppError, isAppError } from "@berth/contract/errors.ts";
import { TEMPORARY_PREFIX } from "../files/walk.ts";
import type { GitOptions, GitOutput, GitProcess } from "./process/git-process.ts";
import { workspacePath } from "./repositories.ts";

const MAX_FILES = 5000;
const MAX_OUTPUT = 2 * 1024 * 1024;
const TIMEOUT_MS = 8000;
const MAX_ATTEMPTS = 2;

export async function readStatus(git: GitProcess, repository: string, options: GitOptions = {}): Promise<GitRepository> {
  const text = async (args: string[]) => (await git.read(repository, args, { ...options, expect: [0, 1, 128] })).stdout.toString().trim();
  const [output, gitFolder, remotes] = await Promise.all([
    rawStatus(git, repository, options),
    text(["rev-parse", "--absolute-git-dir"]),
    text(["remote"]),
  ]);
  const parsed = parseStatus(output.stdout, output.truncated);
  const files = parsed.files.map(({ file: { path, from, ...rest } }) => ({
    ...rest,
    path: workspacePath(repository, path),
    ...(from === undefined ? {} : { from: workspacePath(repository, from) }),
  }));
  return {
    ...parsed.head,
    path: repository,
    remotes: remotes === "" ? [] : remotes.split("\n"),
    operation: operationIn(gitFolder),
    files: files.slice(0, MAX_FILES),
    truncated: output.truncated || files.length > MAX_FILES,
  };
}

// The changed files with their names as bytes, because a name may be no UTF-8.
export async function readChangedFiles(git: GitProcess, repository: string): Promise<ChangedFile[]> {
  const { stdout, truncated } = await rawStatus(git, repository, {});
  return parseStatus(stdout, truncated).files;
}

// The output always names the branch first. Output without it is incomplete, so it counts as a failure, and people keep seeing the
// last status.
async function rawStatus(git: GitProcess, repository: string, options: GitOptions): Promise<GitOutput> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const output = await trackedOrAll(git, repository, options);
    if (output.stdout.includes("# branch.head ")) return output;
  }
  throw new AppError("git_failed", { message: "Git ended before it had named the branch. Try again" });
}

// If the untracked files take too long to list, only the tracked ones are.
async function trackedOrAll(git: GitProcess, repository: string, options: GitOptions): Promise<GitOutput> {
  const args = (untracked: "all" | "no") => ["status", "--porcelain=v2", "--branch", "-z", `--untracked-files=${untracked}`];
  const bounds = { ...options, timeoutMs: TIMEOUT_MS, maxBytes: MAX_OUTPUT, onOverflow: "cut" as const };
  try {
    return await git.read(repository, args("all"), bounds);
  } catch (error) {
    if (!isAppError(error, "git_timeout")) throw error;
    return { ...(await git.read(repository, args("no"), bounds)), truncated: true };
  }
}

export interface ChangedFile {
  // Its path is the one in the repository.
  file: GitFile;
  name: Buffer;
  // An untracked folder that is a repository of its own.
  nested: boolean;
}

interface Parsed {
  head: Pick<GitRepository, "branch" | "commit" | "upstream" | "ahead" | "behind">;
  files: ChangedFile[];
}

// Reads the format of `git status --porcelain=v2 -z`. The last record of a cut output is incomplete.
export function parseStatus(bytes: Buffer, truncated = false): Parsed {
  const records = splitAtNul(bytes);
  if (truncated) records.pop();
  const head: Parsed["head"] = { branch: null, commit: null, upstream: null, ahead: 0, behind: 0 };
  const files: ChangedFile[] = [];
  for (let i = 0; i < records.length; i++) {
    const record = records[i];
    if (!record) continue;
    const kind = String.fromCharCode(record[0] ?? 0);
    if (kind === "#") readHead(head, record.toString());
    const spaces = SPACES_BEFORE_NAME[kind];
    if (spaces === undefined) continue;
    // The old name of a renamed file is a record of its own.
    const from = kind === "2" ? records[++i]?.toString() : undefined;
    const name = record.subarray(afterSpaces(record, spaces));
    const states = kind === "?" ? "?" : record.toString("latin1", 2, 4);
    const changed = changedFile(kind, states, name, from);
    if (!basename(changed.file.path).startsWith(TEMPORARY_PREFIX)) files.push(changed);
  }
  return { head, files };
}

const SPACES_BEFORE_NAME: Record<string, number> = { "1": 8, "2": 9, u: 10, "?": 1 };

function changedFile(kind: string, states: string, fullName: Buffer, from: string | undefined): ChangedFile {
  const nested = kind === "?" && fullName.at(-1) === SLASH;
  const name = nested ? fullName.subarray(0, -1) : fullName;
  const path = name.toString();
  if (kind === "u") return { file: { path, staged: null, unstaged: null, conflict: true }, name, nested };
  if (kind === "?") return { file: { path, staged: null, unstaged: "untracked", conflict: false }, name, nested };
  const [staged, unstaged] = [KINDS[states[0] ?? ""] ?? null, KINDS[states[1] ?? ""] ?? null];
  return { file: { path, staged, unstaged, conflict: false, ...(from === undefined ? {} : { from }) }, name, nested };
}

const SLASH = 47;
const KINDS: Record<string, GitChangeKind> = { A: "added", C: "added", D: "deleted", M: "modified", T: "modified", R: "renamed" };

function readHead(head: Parsed["head"], line: string): void {
  const [, key, value = ""] = /^# branch\.(\w+) (.*)$/s.exec(line) ?? [];
  if (key === "oid") head.commit = value === "(initial)" ? null : value;
  if (key === "head") head.branch = value === "(detached)" ? null : value;
  if (key === "upstream") head.upstream = value;
  if (key !== "ab") return;
  const [, ahead = "0", behind = "0"] = /^\+(\d+) -(\d+)$/.exec(value) ?? [];
  [head.ahead, head.behind] = [Number(ahead), Number(behind)];
}

function operationIn(gitFolder: string): GitOperation | null {
  if (gitFolder === "") return null;
  const has = (name: string) => existsSync(join(gitFolder, name));
  if (has("rebase-merge") || has("rebase-apply")) return "rebase";
  if (has("MERGE_HEAD")) return "merge";
  if (has("CHERRY_PICK_HEAD")) return "cherry-pick";
  return has("REVERT_HEAD") ? "revert" : null;
}

function splitAtNul(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let from = 0;
  for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, from)) {
    parts.push(bytes.subarray(from, end));
    from = end + 1;
  }
  if (from < bytes.length) parts.push(bytes.subarray(from));
  return parts;
}

function afterSpaces(record: Buffer, count: number): number {
  let at = 0;
  for (let found = 0; found < count; found++) at = record.indexOf(SPACE, at) + 1;
  return at;
}

const SPACE = 32;
