// The API of the daemon in every sandbox, over plain HTTP and WebSocket. A partner's backend reaches it below `sandboxUrl`
// (with its API key), and the browser below `/workspace/{sandboxId}/api` (with the cookie). Paths below /internal are only
// for the server: see daemon-internal.ts. Plain types, no imports: the browser loads this file too.
//
// Paths in requests are relative to the workspace folder, with `/` as the separator; "" is the workspace itself.
// Errors are `{error, code}` with the status and the code of the table in errors.ts.

export const DAEMON_SOCKET = "daemon.sock";
// The header with the sandbox's token. The daemon only knows the token's SHA-256 (hex), from the environment variable
// BERTH_TOKEN_HASH, so that no program in the sandbox can learn the token.
export const TOKEN_HEADER = "x-berth-token";

// Process 1 of a sandbox is `{runtime}/lib/sh {runtime}/init.sh`, which starts `bin/node daemon.cjs`, reaps orphans and forwards
// SIGTERM. Where the daemon is not process 1 (process driver, an engine with its own init), it can be started directly.

// GET /health
export interface Health {
  status: "ok";
  version: string;
  // Whether the server has called /internal/start since this daemon started.
  started: boolean;
}

// POST /exec: runs a command. The response streams NDJSON, one ExecEvent per line; the last one is `exit`, or `error` if the
// command could not be started, or if the session was paused (`?format=ndjson` is the same). With `?format=text` the response is the raw output, with stdout and stderr interleaved, and
// the trailer `X-Exit-Code` has the exit code. Closing the connection kills the command; a pause does not.
export interface ExecRequest {
  // A string is run by `sh -c`; an array is executed without a shell.
  command: string | string[];
  cwd?: string;
  env?: Record<string, string>;
  stdin?: string;
  timeoutMs?: number;
}
export type ExecEvent =
  | { type: "stdout" | "stderr"; data: string }
  | { type: "exit"; code: number | null; signal: string | null; timedOut?: boolean }
  | { type: "error"; message: string; code?: "session_paused" | "session_not_found" };

// GET /files?path=        lists a folder: folders first, then by name, where case does not matter and "a9" precedes "a10".
//                         With `details=names` it is a NameListing, which is much faster for a large folder
// DELETE /files?path=     deletes a file or a folder with its contents
export interface NamedEntry {
  name: string;
  type: "file" | "folder" | "link" | "other";
  // The type of a link's target. Missing if the link is broken or leads out of the workspace.
  target?: "file" | "folder";
}
export interface FileEntry extends NamedEntry {
  size: number;
  modifiedAtMs: number;
}
export interface FolderListing {
  path: string;
  entries: FileEntry[];
  // Whether the folder has more entries than the daemon lists (10,000).
  truncated: boolean;
}
// An ordinary file is its name alone.
export type NameListing = Omit<FolderListing, "entries"> & { entries: (string | NamedEntry)[] };

// GET /files/content?path=   reads the bytes, with ETag, Content-Length, Last-Modified and Range
// PUT /files/content?path=   writes atomically (temporary file, fsync, rename) and creates parent folders. 412 with
//                            `If-Match: "etag"` if the file has changed, with `If-None-Match: *` if it exists
export interface WrittenFile {
  path: string;
  size: number;
  modifiedAtMs: number;
  etag: string;
}

// POST /files/folder {path}            creates a folder and its parents
// POST /files/move {from, to}          renames; 409 if `to` exists, unless `overwrite` is set
export interface MoveRequest {
  from: string;
  to: string;
  overwrite?: boolean;
}
// POST /files/copy {from, to}          copies a file, a link or a folder with its contents; 409 if `to` exists
export interface CopyRequest {
  from: string;
  to: string;
}
// POST /files/trash {paths}            deletes files and folders so that it can be undone for a day; 413 `too_large` if they
//                                      are larger than 64 MiB or 10,000 files, and then nothing is deleted
// POST /files/restore {id}             undoes that; 409 if something is in the way, 404 if it is no longer possible
export interface TrashedFiles {
  id: string;
  paths: string[];
}
// GET /files/ignored?path=             the entries of a folder that Git ignores: {names: string[]}
// GET /files/archive?path=             streams the folder as a zip
// GET /files/find?q=&limit=            quick open, best match first: {paths: string[], truncated}

// GET /search?q=&regex=&case=&word=&include=&exclude=&file=&limit=&fileLimit=    NDJSON, one SearchEvent per line.
// `fileLimit` limits the matches of each file, and `file` searches only that file. Matches in data files come last.
export type SearchEvent =
  | { type: "match"; path: string; line: number; column: number; length: number; text: string }
  // The file has more matches than `fileLimit`.
  | { type: "more"; path: string }
  // The search could not run, for example because its regular expression is not supported. `done` follows.
  | { type: "failed"; message: string }
  | { type: "done"; matches: number; files: number; truncated: boolean; engine: "ripgrep" | "builtin" };

// GET /ports
export interface ListeningPort {
  port: number;
  // The program that listens; null if unknown.
  program: string | null;
}

// A port that the repository's programs use, by its devcontainer.json, whether or not one listens there now.
export interface ExpectedPort {
  port: number;
  label: string | null;
}

// The settings of the workspace's editor that the repository chooses, by their names. Those of a person take precedence.
export type RepositorySettings = Record<string, string | number | boolean>;

// `expected` is absent if the repository names none.
export interface PortList {
  ports: ListeningPort[];
  expected?: ExpectedPort[];
}
// Requests for `/ports/{port}/…` (HTTP and WebSocket) are forwarded to 127.0.0.1:{port} in the sandbox, without the prefix.
// Only the preview uses this.

// GET /terminals           {terminals: Terminal[]}
// POST /terminals          CreateTerminal -> 201 Terminal; 409 `too_many` above 32; 503 `busy` at the limit of processes
// DELETE /terminals/{id}   ends the program and removes the terminal
export interface CreateTerminal {
  cols: number;
  rows: number;
  // Default: an interactive shell.
  command?: string[];
  cwd?: string;
  title?: string;
}
export interface Terminal {
  id: string;
  title: string;
  // The program in the foreground; null if that is the terminal's own, such as a shell.
  program: string | null;
  cols: number;
  rows: number;
  createdAtMs: number;
  // null while the program is running.
  exit: { code: number | null; signal: string | null } | null;
  // The total number of output bytes so far, which is the end of the stream.
  offset: number;
}
// GET /ssh          SshHost
// WebSocket /ssh    binary frames with the bytes of an SSH connection: a shell, commands, SFTP, and forwarding of ports and Unix sockets
//                   in both directions. The caller of the WebSocket is authenticated; inside, `none` is the method, and every user name
//                   will do. 409 `too_many` above 16 connections
export interface SshHost {
  // The sandbox's host key as in a known_hosts file: `ssh-ed25519 AAAA…`. It is created with the first call.
  hostKey: string;
}

// WebSocket /terminals/{id}?offset=N
//   A client counts the output bytes it has received. When it reconnects, it sends that count as `offset` and gets the rest.
//   Daemon -> client: first a text frame `attached`, then output as binary frames and other messages as text frames.
//   Client -> daemon: input as binary frames, and other messages as text frames.
//   Several clients can be attached. All of them see the output and can type. The last requested size applies, until the client
//   that requested it leaves.
export type TerminalFromDaemon =
  // Output continues at `offset`. If `reset` is true, the client's offset was missing or too old: clear the screen first.
  | { type: "attached"; terminal: Terminal; offset: number; reset: boolean }
  | { type: "resized"; cols: number; rows: number }
  // Another client has cleared the terminal.
  | { type: "cleared" }
  | { type: "exit"; code: number | null; signal: string | null };
export type TerminalFromClient =
  // The size of this client's screen. `unusedMs` says how long ago a person has used the terminal there: null if never, and now if it
  // is missing. The terminal has the size of the client that was used last.
  | { type: "resize"; cols: number; rows: number; unusedMs?: number | null }
  // Forgets all output above the current line.
  | { type: "clear" }
  // Flow control: the number of output bytes that the client has drawn. The daemon stops sending to a client that is more
  // than 1 MiB behind, and resets it with `attached` when it catches up.
  | { type: "drawn"; offset: number };

// WebSocket /events: reports changes in the sandbox to open browsers. One JSON message per frame.
export type SandboxEvent =
  // The complete state. Sent after connecting, and again when events may have been lost: reload everything.
  | ({ type: "hello"; terminals: Terminal[]; agent: AgentState; settings?: RepositorySettings } & PortList)
  // Paths that were created, changed or deleted, coalesced over about 50 ms. `overflow`: there are more changes than the
  // list has; reload everything.
  | { type: "files"; changes: FileChange[]; overflow: boolean }
  | { type: "terminals"; terminals: Terminal[] }
  | ({ type: "ports" } & PortList)
  | { type: "settings"; settings: RepositorySettings }
  | { type: "agent"; agent: AgentState };

export interface FileChange {
  path: string;
  kind: "changed" | "deleted";
  // The current type. Missing if the path was deleted.
  type?: FileEntry["type"];
}

// GET /agent
export interface AgentState {
  status:
    | "none" // the template has no agent
    | "unavailable" // no agent's program is installed in the sandbox; `message` names them
    | "unconfigured" // `missing` names the variables to set, and `signIn` the ways to sign in
    | "stopped" // POST /agent/start starts it
    | "starting"
    | "ready"
    | "failed"; // `message` says why
  name: string | null;
  missing?: string[];
  message?: string;
  // With `ready`: whether prompts can have images.
  acceptsImages?: boolean;
  // With `unconfigured`: how a person can sign in, in a terminal that POST /agent/sign-in opens.
  signIn?: AgentSignIn[];
  // With `ready`: the MCP servers of the session. Absent: it has none.
  mcpServers?: AgentMcpServer[];
}

export interface AgentMcpServer {
  name: string;
  // `ready`: it answers, or its program is there. The agent does not say whether it uses it.
  status: "checking" | "ready" | "failed";
  // Why it has failed.
  message?: string;
}

export interface AgentSignIn {
  id: string;
  name: string;
  description?: string;
}

// The WebSocket close codes of the daemon and the gateway that the workspace understands.
export const CLOSE = {
  terminalGone: 4404,
  noLanguageServer: 4406,
  languageServerIdle: 4408,
  sessionPaused: 4409,
  sessionDestroyed: 4410,
  unauthorized: 4401,
  viewOnly: 4403,
  languageServerFailed: 4500,
  serverRestarting: 4503,
} as const;
