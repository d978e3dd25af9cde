import type { GitCommit } from "@berth/contract/git.ts";
import { badRequest, notFound } from "../http/errors.ts";
import type { GitOptions, GitProcess } from "./process/git-process.ts";
import { type RepositoryFile, workspacePath } from "./repositories.ts";

const MAX_CONTENT = 20 * 1024 * 1024;
const RECORD = "\x01";
// Git fails with this code if there is no commit yet, or no such file or line.
const NOTHING_THERE = [0, 128];

// The commits that changed a file, the newest first, also under its earlier names.
export async function readHistory(
  git: GitProcess,
  { repository, inner }: RepositoryFile,
  limit: number,
  options: GitOptions = {},
): Promise<{ commits: GitCommit[]; truncated: boolean }> {
  const format = `--format=${RECORD}%H%x00%an%x00%at%x00%s`;
  const args = ["log", "--follow", `--max-count=${limit + 1}`, "-z", format, "--name-only", "--", inner];
  const { stdout } = await git.read(repository, args, { ...options, expect: NOTHING_THERE });
  const commits = stdout.toString().split(RECORD).slice(1).map(parseCommit);
  return { commits: commits.slice(0, limit), truncated: commits.length > limit };

  function parseCommit(record: string): GitCommit {
    const [id = "", author = "", time = "", subject = "", name = ""] = record.split("\0");
    const path = name.replace(/^\n/, "");
    return { id, author, atMs: Number(time) * 1000, subject, path: workspacePath(repository, path === "" ? inner : path) };
  }
}

// The last commit that changed a line of the file on disk; null if the line is not committed.
export async function readBlame(
  git: GitProcess,
  { repository, inner }: RepositoryFile,
  line: number,
  options: GitOptions = {},
): Promise<GitCommit | null> {
  const args = ["blame", "--porcelain", "-L", `${line},${line}`, "--", inner];
  const { stdout, code } = await git.read(repository, args, { ...options, expect: NOTHING_THERE });
  const text = stdout.toString();
  const id = /^[0-9a-f]+/.exec(text)?.[0] ?? "";
  if (code !== 0 || /^0*$/.test(id)) return null;
  const field = (name: string) => new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1] ?? "";
  const path = workspacePath(repository, field("filename"));
  return { id, author: field("author"), atMs: Number(field("author-time")) * 1000, subject: field("summary"), path };
}

// The content of a file in the index, in HEAD or in a commit, with the id of the content.
export async function readContent(
  git: GitProcess,
  { repository, inner }: RepositoryFile,
  revision: string,
): Promise<{ id: string; bytes: Buffer }> {
  if (!/^(index|HEAD|[0-9a-f]{4,64})$/.test(revision)) throw badRequest("revision must be index, HEAD or the id of a commit");
  const name = `${revision === "index" ? ":0" : revision}:${inner}`;
  const found = await git.read(repository, ["rev-parse", "-q", "--verify", name], { expect: [0, 1, 128] });
  const id = found.stdout.toString().trim();
  if (found.code !== 0 || id === "") throw notFound("This revision does not contain the file");
  // A submodule is no content.
  const blob = await git.read(repository, ["cat-file", "blob", id], { expect: NOTHING_THERE, maxBytes: MAX_CONTENT });
  if (blob.code !== 0) throw notFound("This revision does not contain the file");
  return { id, bytes: blob.stdout };
}
