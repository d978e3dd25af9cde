import Type, { type TProperties } from "typebox";
import { describe } from "../describe.ts";

// The bodies of a sandbox's source control, for its description. The types that daemon and browser use are in git.ts;
// sandbox.test.ts compares the two.

const named = <P extends TProperties>($id: string, properties: P) => Type.Object(properties, { $id });
const text = (description: string) => Type.String({ minLength: 1, description });
const repository = Type.Optional(Type.String(describe("The path of the repository. Default: the first one of the workspace.")));

const CHANGES = ["added", "modified", "deleted", "renamed", "untracked"] as const;
const change = (description: string) => Type.Union([Type.Enum([...CHANGES]), Type.Null()], { description });

const GitFile = named("GitFile", {
  path: Type.String(describe("The path in the workspace.")),
  staged: change("The difference between HEAD and the index; null if there is none."),
  unstaged: change("The difference between the index and the file; null if there is none."),
  conflict: Type.Boolean(describe("Whether a merge left a conflict in the file.")),
  from: Type.Optional(Type.String(describe("The earlier path of a renamed file."))),
});

const GitRepository = named("GitRepository", {
  path: Type.String(describe("The folder of the repository; empty for the workspace itself.")),
  branch: Type.Union([Type.String(), Type.Null()], describe("The branch; null if HEAD is detached.")),
  commit: Type.Union([Type.String(), Type.Null()], describe("The id of the last commit; null before the first one.")),
  upstream: Type.Union([Type.String(), Type.Null()], describe("The remote branch that the branch follows; null if there is none.")),
  ahead: Type.Integer(describe("The number of commits that only the branch has.")),
  behind: Type.Integer(describe("The number of commits that only the upstream has.")),
  remotes: Type.Array(Type.String(), describe("The names of the remotes.")),
  operation: Type.Union([Type.Enum(["merge", "rebase", "cherry-pick", "revert"]), Type.Null()], describe("The operation in progress.")),
  files: Type.Array(GitFile, describe("The files that differ from HEAD or from the index.")),
  truncated: Type.Boolean(describe("Whether there are more files than are listed.")),
});

export const GitStatus = named("GitStatus", {
  repositories: Type.Array(Type.String(), describe("The paths of all repositories of the workspace.")),
  repository: Type.Union([GitRepository, Type.Null()], describe("The repository; null if there is none.")),
});

export const GitBranches = named("GitBranches", {
  branches: Type.Array(
    Type.Object({
      name: Type.String(describe("Such as `main`, or `origin/main` for a remote branch.")),
      remote: Type.Boolean(describe("Whether it is a branch of a remote.")),
      current: Type.Boolean(describe("Whether it is the current branch.")),
    }),
    describe("Local branches first, the most recently used first."),
  ),
});

export const SwitchBranch = named("SwitchBranch", {
  repository,
  branch: text("The name of the branch."),
  create: Type.Optional(Type.Boolean(describe("Whether to create the branch."))),
  from: Type.Optional(text("The branch or commit that a new branch starts from. Default: HEAD.")),
});

export const GitPaths = named("GitPaths", {
  repository,
  paths: Type.Optional(Type.Array(Type.String(), { minItems: 1, description: "The paths in the workspace. Default: all files." })),
});

export const CommitRequest = named("CommitRequest", {
  repository,
  message: Type.Optional(text("The message. Required unless `amend` is set.")),
  amend: Type.Optional(Type.Boolean(describe("Whether to replace the last commit."))),
});

export const SyncRequest = named("SyncRequest", {
  repository,
  reconcile: Type.Optional(
    Type.Enum(["merge", "rebase"], describe("For a pull if both sides have new commits. Default: as git is configured.")),
  ),
});

export const GitEvent = Type.Union(
  [
    Type.Object({
      type: Type.Literal("progress", describe("How it goes.")),
      text: Type.String(describe("The last line of git's report.")),
    }),
    Type.Object({ type: Type.Literal("done", describe("The last line after a success.")) }),
    Type.Object({
      type: Type.Literal("failed", describe("The last line after a failure.")),
      code: Type.String(describe("The code of the error.")),
      message: Type.String(describe("A message for people. Its wording may change.")),
    }),
  ],
  { $id: "GitEvent" },
);

export const GitSelection = named("GitSelection", { repository });

export const GitIdentity = named("GitIdentity", {
  name: text("The name of the author."),
  email: text("The email address of the author."),
});

export const GitRemote = named("GitRemote", {
  repository,
  name: text("The name of the remote, such as `origin`."),
  url: text("The URL of the remote."),
});

const GitCommit = named("GitCommit", {
  id: Type.String(describe("The id of the commit.")),
  author: Type.String(describe("The name of the author.")),
  atMs: Type.Integer(describe("When it was written, as a Unix timestamp in milliseconds.")),
  subject: Type.String(describe("The first line of the message.")),
  path: Type.String(describe("The path of the file in this commit.")),
});

export const GitHistory = named("GitHistory", {
  commits: Type.Array(GitCommit, describe("The newest first.")),
  truncated: Type.Boolean(describe("Whether there are more.")),
});

export const GitBlame = named("GitBlame", {
  commit: Type.Union([GitCommit, Type.Null()], describe("The last commit that changed the line; null if the line is not committed.")),
});
