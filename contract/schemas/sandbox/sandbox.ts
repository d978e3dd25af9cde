import Type, { type TProperties } from "typebox";
import { describe, nullable } from "../describe.ts";

// The bodies of the sandbox API, for its description. The types that daemon and browser use are in daemon.ts and agent.ts;
// sandbox.test.ts compares the two.

const named = <P extends TProperties>($id: string, properties: P) => Type.Object(properties, { $id });
const path = (description: string) => Type.String(describe(description));

export const SandboxError = named("SandboxError", {
  error: Type.String(describe("A message for people. Its wording may change.")),
  code: Type.Optional(Type.String(describe("The code of `X-Error-Code` again, if the error comes from inside the sandbox."))),
});

export const Health = named("SandboxHealth", {
  status: Type.Enum(["ok"], describe("Always `ok`.")),
  version: Type.String(describe("The version of the daemon in the sandbox.")),
  started: Type.Boolean(describe("Whether the sandbox has the session's settings.")),
});

export const ExecRequest = named("ExecRequest", {
  command: Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String(), { minItems: 1 })], {
    description: "A string is run by `sh -c`; an array is executed without a shell.",
  }),
  cwd: Type.Optional(path("The folder to run in, relative to the workspace. Default: the workspace.")),
  env: Type.Optional(Type.Record(Type.String(), Type.String(), describe("Environment variables in addition to those of the session."))),
  stdin: Type.Optional(Type.String(describe("The standard input. Default: empty."))),
  timeoutMs: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 86_400_000,
      description: "The command and everything that it started are killed after this time.",
    }),
  ),
});

const exitCode = nullable(Type.Integer(), "The exit code; null if a signal ended it.");
const signal = nullable(Type.String(), "The signal that ended it, such as `SIGKILL`; null if it exited.");

export const ExecEvent = Type.Union(
  [
    Type.Object({
      type: Type.Enum(["stdout", "stderr"], describe("Output of the command.")),
      data: Type.String(describe("The text, in UTF-8. Bytes that are not UTF-8 are replaced.")),
    }),
    Type.Object({
      type: Type.Literal("exit", describe("The last line of a command that ran.")),
      code: exitCode,
      signal,
      timedOut: Type.Optional(Type.Boolean(describe("True if `timeoutMs` has passed."))),
    }),
    Type.Object({
      type: Type.Literal(
        "error",
        describe("The last line if the command could not be started, or if the session was paused or destroyed."),
      ),
      message: Type.String(describe("What happened.")),
      code: Type.Optional(
        Type.Enum(
          ["session_paused", "session_not_found"],
          describe("The session was paused: the command goes on when it is resumed, but its output is lost. Or it was destroyed."),
        ),
      ),
    }),
  ],
  { $id: "ExecEvent" },
);

const FileEntry = named("FileEntry", {
  name: Type.String(describe("The name without its folder.")),
  type: Type.Enum(["file", "folder", "link", "other"], describe("What it is; `link` is a symbolic link.")),
  target: Type.Optional(
    Type.Enum(["file", "folder"], describe("What a link leads to; absent if it is broken or leads out of the workspace.")),
  ),
  size: Type.Integer(describe("The size in bytes.")),
  modifiedAtMs: Type.Integer(describe("When it was last modified, as a Unix timestamp in milliseconds.")),
});

export const FolderListing = named("FolderListing", {
  path: path("The path of the request."),
  entries: Type.Array(FileEntry, describe("Folders first, then by name, where case does not matter and `a9` precedes `a10`.")),
  truncated: Type.Boolean(describe("Whether the folder has more than the 10,000 entries that are listed.")),
});

export const WrittenFile = named("WrittenFile", {
  path: path("The path of the file."),
  size: Type.Integer(describe("The size in bytes.")),
  modifiedAtMs: Type.Integer(describe("When it was written, as a Unix timestamp in milliseconds.")),
  etag: Type.String(describe("The `ETag` of the new content, for `If-Match`.")),
});

export const FilePath = named("FilePath", { path: Type.String({ minLength: 1, description: "The path, relative to the workspace." }) });

const trashedPaths = Type.Array(Type.String(), { minItems: 1, maxItems: 1000, description: "The files and folders." });

export const TrashRequest = named("TrashRequest", { paths: trashedPaths });

export const RestoreRequest = named("RestoreRequest", { id: Type.String(describe("The `id` of the deletion.")) });

export const TrashedFiles = named("TrashedFiles", {
  id: Type.String(describe("Identifies the deletion, for `POST /files/restore`.")),
  paths: trashedPaths,
});

export const MoveRequest = named("MoveRequest", {
  from: Type.String({ minLength: 1, description: "The file or folder." }),
  to: Type.String({ minLength: 1, description: "Its new path. Missing parent folders are created." }),
  overwrite: Type.Optional(Type.Boolean({ default: false, description: "Whether to replace what is there." })),
});

export const CopyRequest = named("CopyRequest", {
  from: Type.String({ minLength: 1, description: "The file, link or folder." }),
  to: Type.String({ minLength: 1, description: "The path of the copy." }),
});

export const IgnoredFiles = named("IgnoredFiles", {
  names: Type.Array(Type.String(), describe("Names in the folder, without its path.")),
});

export const FoundFiles = named("FoundFiles", {
  paths: Type.Array(Type.String(), describe("The best match first.")),
  truncated: Type.Boolean(describe("Whether there are more matches.")),
});

export const SearchEvent = Type.Union(
  [
    Type.Object({
      type: Type.Literal("match", describe("One occurrence.")),
      path: path("The file."),
      line: Type.Integer(describe("The line, counted from 1.")),
      column: Type.Integer(describe("The column in UTF-16 units, counted from 1.")),
      length: Type.Integer(describe("The length of the match in UTF-16 units.")),
      text: Type.String(describe("The line, or the part around the match if it is long.")),
    }),
    Type.Object({
      type: Type.Literal("more", describe("A file has more matches than `fileLimit`.")),
      path: path("The file."),
    }),
    Type.Object({
      type: Type.Literal("failed", describe("The search could not run; `done` follows.")),
      message: Type.String(describe("Why, for example because the regular expression is not supported.")),
    }),
    Type.Object({
      type: Type.Literal("done", describe("The last line.")),
      matches: Type.Integer(describe("The number of matches that were sent.")),
      files: Type.Integer(describe("The number of files with matches.")),
      truncated: Type.Boolean(describe("Whether there are more than `limit` matches.")),
      engine: Type.Enum(["ripgrep", "builtin"], describe("What searched.")),
    }),
  ],
  { $id: "SearchEvent" },
);

const size = (description: string, fallback: number) => Type.Integer({ minimum: 1, maximum: 1000, default: fallback, description });

export const CreateTerminal = named("CreateTerminal", {
  cols: Type.Optional(size("The width in characters.", 80)),
  rows: Type.Optional(size("The height in lines.", 24)),
  command: Type.Optional(Type.Array(Type.String(), { minItems: 1, description: "The program. Default: an interactive shell." })),
  cwd: Type.Optional(path("The folder to start in. Default: the workspace.")),
  title: Type.Optional(Type.String({ maxLength: 200, description: "The title of its tab." })),
});

export const Terminal = named("Terminal", {
  id: Type.String(describe("The identifier of the terminal.")),
  title: Type.String(describe("The title of its tab.")),
  program: nullable(Type.String(), "The program in the foreground; null if that is the terminal's own, such as a shell."),
  cols: Type.Integer(describe("The width in characters.")),
  rows: Type.Integer(describe("The height in lines.")),
  createdAtMs: Type.Integer(describe("When it was created, as a Unix timestamp in milliseconds.")),
  exit: nullable(Type.Object({ code: exitCode, signal }), "How the program ended; null while it is running."),
  offset: Type.Integer(describe("The number of output bytes so far.")),
});

export const TerminalList = named("TerminalList", { terminals: Type.Array(Terminal, describe("All terminals of the sandbox.")) });

export const PortList = named("PortList", {
  ports: Type.Array(
    Type.Object({
      port: Type.Integer(describe("The port.")),
      program: nullable(Type.String(), "The program that listens; null if unknown."),
    }),
    describe("The ports on which programs in the sandbox listen."),
  ),
  expected: Type.Optional(
    Type.Array(
      Type.Object({ port: Type.Integer(describe("The port.")), label: nullable(Type.String(), "A name for people; null if it has none.") }),
      describe("The ports that the repository's devcontainer.json forwards, whether or not a program listens there."),
    ),
  ),
});

export const Changes = named("Changes", {
  base: Type.Enum(["git", "start", "none"], describe("What the files are compared with: git's HEAD, or the start of the session.")),
  baseName: Type.String(describe("The same for people, such as `HEAD (main)`.")),
  changes: Type.Array(
    Type.Object({
      path: path("The file."),
      kind: Type.Enum(["added", "modified", "deleted"], describe("What happened to it.")),
      linesAdded: Type.Optional(Type.Integer(describe("For text files that are small enough to count."))),
      linesDeleted: Type.Optional(Type.Integer(describe("For text files that are small enough to count."))),
    }),
    describe("The changed files."),
  ),
  truncated: Type.Boolean(describe("Whether there are more.")),
});

export const SshHost = named("SshHost", {
  hostKey: Type.String(describe("The sandbox's host key as in a known_hosts file. It stays the same for the life of the sandbox.")),
});
