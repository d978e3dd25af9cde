// The source control of a sandbox, for the browser and for a partner's backend: the daemon runs the sandbox's own git. Plain
// types, no imports: the browser loads this file too. Paths are relative to the workspace. A repository is the workspace itself
// ("") or a folder directly below it; without `repository`, a request means the first one.

// GET  /git/status?repository=     GitStatus
// POST /git/init                   makes the workspace a repository. 204
export interface GitStatus {
  // All repositories of the workspace.
  repositories: string[];
  // Null if there is none.
  repository: GitRepository | null;
}

export interface GitRepository {
  path: string;
  // Null if HEAD is detached.
  branch: string | null;
  // Null before the first commit.
  commit: string | null;
  // The remote branch that the branch follows, such as "origin/main"; null if there is none.
  upstream: string | null;
  // The number of commits that only the branch has, and that only the upstream has.
  ahead: number;
  behind: number;
  remotes: string[];
  // The operation in progress, for example because of a conflict.
  operation: GitOperation | null;
  // The files that differ from HEAD or from the index.
  files: GitFile[];
  // Whether there are more files than are listed.
  truncated: boolean;
}

export type GitOperation = "merge" | "rebase" | "cherry-pick" | "revert";
export type GitChangeKind = "added" | "modified" | "deleted" | "renamed" | "untracked";

export interface GitFile {
  path: string;
  // The difference between HEAD and the index; null if there is none.
  staged: GitChangeKind | null;
  // The difference between the index and the file; null if there is none.
  unstaged: GitChangeKind | null;
  // Whether a merge left a conflict in this file. `staged` and `unstaged` are null then.
  conflict: boolean;
  // The earlier path of a renamed file.
  from?: string;
}

// GET  /git/branches?repository=   {branches: GitBranch[]}, the most recently used first, local ones before remote ones
// POST /git/switch                 SwitchBranch. 204; 409 `git_blocked` if changes in files would be lost
export interface GitBranch {
  // Such as "main", or "origin/main" for a remote branch.
  name: string;
  remote: boolean;
  current: boolean;
}

export interface SwitchBranch {
  repository?: string;
  branch: string;
  // Creates the branch.
  create?: boolean;
  // The branch or commit that a new branch starts from. Default: HEAD. A new branch follows the remote branch that it starts from.
  from?: string;
}

// POST /git/stage, /git/unstage    GitPaths. 204
// POST /git/discard                GitPaths: restores files from the index and deletes untracked files. 204
export interface GitPaths {
  repository?: string;
  // Default: all files.
  paths?: string[];
}

// GET  /git/content?path=&revision=   the bytes of a file in a revision, with ETag: "index", "HEAD" or the id of a commit. 404
//                                     if the revision does not contain the file
// PUT  /git/index?path=               replaces the staged content of a file, for staging a part of its changes. 204; 412 with
//                                     `If-Match` if the staged content has changed

// POST /git/commit      CommitRequest
// POST /git/push, /git/pull, /git/fetch   SyncRequest
// These run hooks, ask the network and can take long, so they respond with NDJSON, one GitEvent per line. Closing the connection
// stops git.
export interface CommitRequest {
  repository?: string;
  // Required unless `amend` is set: then the last commit's message is the default.
  message?: string;
  // Replaces the last commit.
  amend?: boolean;
}

export interface SyncRequest {
  repository?: string;
  // For a pull if both sides have new commits. Default: as git is configured.
  reconcile?: "merge" | "rebase";
}

export type GitEvent =
  // Progress, for people.
  | { type: "progress"; text: string }
  // The last line. `code` is one of the error codes, as in the response of other routes.
  | { type: "done" }
  | { type: "failed"; code: string; message: string };

// POST /git/continue    {repository?}: continues the operation in progress after its conflicts are resolved; responds with events
// POST /git/abort       {repository?}: ends the operation in progress and restores the state before it. 204
// POST /git/identity    GitIdentity: the author of commits, for all repositories of this sandbox. 204
// POST /git/remote      GitRemote: adds a remote. 204; 409 `exists` if the name is taken
export interface GitIdentity {
  name: string;
  email: string;
}

export interface GitRemote {
  repository?: string;
  name: string;
  url: string;
}

// GET  /git/history?path=&limit=   {commits: GitCommit[], truncated}: the commits that changed a file, the newest first
// GET  /git/blame?path=&line=      {commit: GitCommit | null}: the last commit that changed a line; null if it is not committed
export interface GitCommit {
  id: string;
  author: string;
  atMs: number;
  subject: string;
  // The path of the file in this commit.
  path: string;
}
