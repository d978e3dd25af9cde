// What the daemon in every sandbox speaks: plain HTTP and WebSocket. The same paths are reached by a partner's backend
// below `sandboxUrl` (with its key) and by the browser below `/workspace/{sandboxId}/api` (with the cookie). Paths below
// /internal are for the server alone; no relay passes them on. Plain types, no imports: the browser loads this file too.
//
// Every path in a request is relative to the workspace folder, with `/` between the parts; "" is the workspace itself.
// Errors are `{error, code}` with an HTTP status: 400 bad_request, 403 path_outside, 404 not_found, 409 exists,
// 412 changed (If-Match did not hold), 413 too_large, 507 disk_full.

export const DAEMON_SOCKET = "daemon.sock";
// The header that carries the sandbox's token. The daemon knows only its SHA-256 (hex), from the environment variable
// BERTH_TOKEN_HASH, so that nothing in the sandbox can learn the token.
export const TOKEN_HEADER = "x-berth-token";

// A sandbox's first process is `/bin/sh {runtime}/init.sh`: it starts `bin/node daemon.cjs`, collects orphans and passes
// SIGTERM on. Where the daemon is not process 1 (process driver, an engine with its own init) it may be started directly.

export interface DaemonError {
  error: string;
  code: string;
}

// GET /health
export interface Health {
  status: "ok";
  version: string;
  // True once the server has called /internal/start for this run of the daemon.
  started: boolean;
}

// POST /internal/adopt: gives a sandbox that was started ahead, for nobody yet, the hash of its token. Such a daemon has no
// BERTH_TOKEN_HASH but BERTH_ADOPT_KEY, the Ed25519 public key of its servers, and BERTH_ADOPT_NAME, a name that no other
// sandbox has. The signature is over `adoptionText`, so that it serves for nothing else. 401 when it does not hold, 409
// when the daemon has another hash already.
export interface AdoptRequest {
  tokenHash: string;
  // base64url
  signature: string;
}

export const adoptionText = (name: string, tokenHash: string) => `berth adopt v1\n${name}\n${tokenHash}`;

// POST /internal/start: tells the daemon what to run with. May be repeated; the last one counts.
export interface StartRequest {
  // The template's variables and the session's envVars: for terminals, exec and the agent, never for the daemon itself.
  env: Record<string, string>;
  agent: AgentProgram | null;
  // Where the sandbox has no program for `agent`, the daemon takes the first of these that it has a program for.
  fallbackAgents?: AgentProgram[];
  autoStartAgent: boolean;
  // Where the way out is a TCP address (BERTH_EGRESS=host:port): the line that every connection to it begins with.
  egressPass?: string;
}

export interface AgentProgram {
  command: string;
  args: string[];
  env: Record<string, string>;
  requiredEnv: string[];
}

// Repeated with the same variables (a resume), it changes nothing that runs.

// POST /internal/stop: the sandbox is about to be stopped (hibernate). The daemon ends the agent and the terminals,
// writes scrollback and conversations to disk and answers when they are synced.

// POST /exec: runs a command to its end. The answer streams NDJSON, one ExecEvent a line; the last is `exit`, or `error`
// when the command could not be started. With `?format=text` the answer is the bare output, stdout and stderr
// interleaved, and the exit code in the trailer `X-Exit-Code`. Closing the connection kills the command.
export interface ExecRequest {
  // A string is run by `sh -c`; an array is executed as it is.
  command: string | string[];
  cwd?: string;
  env?: Record<string, string>;
  stdin?: string;
  timeoutMs?: number;
}
export type ExecEvent =
  | { type: "stdout" | "stderr"; data: string }
  | { type: "exit"; code: number | null; signal: string | null; timedOut?: boolean }
  | { type: "error"; message: string };

// GET /files?path=        a folder's entries, folders first, by name
// DELETE /files?path=     a file or a whole folder
export interface FileEntry {
  name: string;
  type: "file" | "folder" | "link" | "other";
  size: number;
  modifiedAtMs: number;
}
export interface FolderListing {
  path: string;
  entries: FileEntry[];
  // True when the folder has more entries than the daemon lists (10,000).
  truncated: boolean;
}

// GET /files/content?path=   the bytes, with ETag, Content-Length, Last-Modified and Range
// PUT /files/content?path=   writes atomically (temporary file, fsync, rename) and makes parent folders. `If-Match: "etag"`
//                            refuses when the file has changed since (412); `If-None-Match: *` when it exists (412)
export interface WrittenFile {
  path: string;
  size: number;
  modifiedAtMs: number;
  etag: string;
}

// POST /files/folder {path}            makes a folder (and its parents)
// POST /files/move {from, to}          renames; 409 when `to` exists, unless `overwrite`
export interface MoveRequest {
  from: string;
  to: string;
  overwrite?: boolean;
}
// GET /files/archive?path=             the folder as a zip, streamed
// GET /files/find?q=&limit=            quick open: paths that match, best first: {paths: string[], truncated}

// GET /search?q=&regex=&case=&word=&include=&exclude=&limit=    NDJSON, one SearchEvent a line
export type SearchEvent =
  | { type: "match"; path: string; line: number; column: number; length: number; text: string }
  | { type: "done"; matches: number; files: number; truncated: boolean; engine: "ripgrep" | "builtin" };

// GET /ports
export interface ListeningPort {
  port: number;
  // The program that listens, where it can be told.
  program: string | null;
}
// A connection to `/ports/{port}/…` is passed on to 127.0.0.1:{port} in the sandbox as it is (HTTP and WebSocket), with
// the prefix taken off. Only the preview uses it.

// GET /terminals           {terminals: Terminal[]}
// POST /terminals          CreateTerminal -> 201 Terminal; 409 code `too_many` when there are 32; 503 `busy` without room for a process
// DELETE /terminals/{id}   hangs it up and forgets it
export interface CreateTerminal {
  cols: number;
  rows: number;
  // Default: the user's login shell in the workspace folder.
  command?: string[];
  cwd?: string;
  title?: string;
}
export interface Terminal {
  id: string;
  title: string;
  cols: number;
  rows: number;
  createdAtMs: number;
  // null while the program runs.
  exit: { code: number | null; signal: string | null } | null;
  // How many bytes of output there have been since the terminal began: the end of the stream.
  offset: number;
}
// WebSocket /terminals/{id}?offset=N
//   A client counts the output bytes that it has seen; when it reconnects it says so in `offset` and gets just the rest.
//   Daemon -> client: one text `attached`, then binary frames of output; text frames for the rest.
//   Client -> daemon: binary frames of input; text frames for the rest.
//   Several clients may be attached: all see the output and all may type. The size is the last one asked for.
export type TerminalFromDaemon =
  // Output continues at `offset`. When `reset` is true the client's offset was too old (or it had none): clear first.
  | { type: "attached"; terminal: Terminal; offset: number; reset: boolean }
  | { type: "resized"; cols: number; rows: number }
  | { type: "exit"; code: number | null; signal: string | null };
export type TerminalFromClient =
  | { type: "resize"; cols: number; rows: number }
  // Flow control: how many output bytes the client has drawn. The daemon stops reading the PTY for nobody, but it stops
  // sending to a client that is more than 1 MiB behind, and that client gets `attached` with `reset` when it catches up.
  | { type: "drawn"; offset: number };

// WebSocket /events: what changes in the sandbox, for open browsers. One JSON message a frame.
export type SandboxEvent =
  // Right after connecting, and again whenever events may have been missed: read everything anew.
  | { type: "hello"; terminals: Terminal[]; ports: ListeningPort[]; agent: AgentState }
  // Paths that were made, changed or deleted (coalesced over some 50 ms). `overflow`: too many to name; read anew.
  | { type: "files"; changes: { path: string; kind: "changed" | "deleted" }[]; overflow: boolean }
  | { type: "terminals"; terminals: Terminal[] }
  | { type: "ports"; ports: ListeningPort[] }
  | { type: "agent"; agent: AgentState };

// GET /agent
export interface AgentState {
  status:
    | "none" // the template has no agent
    | "unavailable" // the sandbox has no program for it; `message` names what was looked for
    | "unconfigured" // `missing` names the variables to set
    | "stopped" // not asked for yet, or stopped; POST /agent/start starts it
    | "starting"
    | "ready"
    | "failed"; // `message` says why, in plain words
  name: string | null;
  missing?: string[];
  message?: string;
}

// WebSocket close codes that the browser app understands, from the daemon or from the gateway.
export const CLOSE = {
  terminalGone: 4404,
  sessionPaused: 4409,
  sessionDestroyed: 4410,
  unauthorized: 4401,
  serverRestarting: 4503,
} as const;
