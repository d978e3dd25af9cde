// The part of the daemon's API that only the server uses: no relay forwards paths below /internal. See daemon.ts.
import type { PermissionRule } from "./agent.ts";

// POST /internal/adopt: gives the hash of its token to a sandbox that was started ahead of time. Such a daemon has no
// BERTH_TOKEN_HASH. It has BERTH_ADOPT_KEY, the Ed25519 public key of its servers, and BERTH_ADOPT_NAME, a unique name. The
// signature covers `adoptionText`, so it is useless for anything else. 401 if the signature is invalid, 409 if the daemon
// already has another hash.
export interface AdoptRequest {
  tokenHash: string;
  // base64url
  signature: string;
}

export const adoptionText = (name: string, tokenHash: string) => `berth adopt v1\n${name}\n${tokenHash}`;

// POST /internal/start: sends the session's settings. Can be repeated; the last request wins. Repeating the same settings, as
// a resume does, does not affect running programs.
export interface StartRequest {
  // The template's variables and the session's envVars, for terminals, exec and the agent. The daemon itself ignores them.
  env: Record<string, string>;
  agent: AgentProgram | null;
  // If the program of `agent` is not installed in the sandbox, the daemon uses the first of these that is.
  fallbackAgents?: AgentProgram[];
  autoStartAgent: boolean;
  // The template's language servers, by language (languages.ts). They take precedence over those that the daemon knows.
  languageServers?: Record<string, LanguageServerProgram>;
  // Settings of git for all programs, in addition to those in files: pairs of a key and a value.
  gitConfig?: [key: string, value: string][];
  // The MCP servers that the agent uses.
  mcpServers?: McpServerAddress[];
  // Absent if an older server starts it.
  sandboxId?: string;
  // The egress token: the first line of every connection to the egress proxy, if that has a TCP address
  // (BERTH_EGRESS=host:port).
  egressToken?: string;
}

// Reached at an address in the sandbox, or a program there.
export type McpServerAddress = { name: string; url: string } | { name: string; command: string; args: string[] };

export interface StartResponse {
  status: "ok";
  // Whether the outbox has entries, or something goes on that will make one.
  hasNews: boolean;
}

export interface AgentProgram {
  command: string;
  args: string[];
  env: Record<string, string>;
  requiredEnv: string[];
  // The modes in which it asks before it acts, the usual one first. Absent: the server does not know them.
  askingModes?: string[];
  // Decide about its questions in all conversations, after the rules of a run.
  permissions?: PermissionRule[];
}

export interface LanguageServerProgram {
  command: string;
  args?: string[];
  env?: Record<string, string>;
  initializationOptions?: unknown;
  // The values for `workspace/configuration`, by section.
  settings?: Record<string, unknown>;
}

// POST /internal/pause: announces that the sandbox is about to be frozen, and all connections closed. Commands, turns of the agent and
// operations of git, which otherwise end with their caller, go on after the resume. `start` says that the sandbox runs again.

// POST /internal/stop: announces that the sandbox is about to stop (hibernation). The daemon stops the agent and the
// terminals, writes scrollback and conversations to disk, and responds when they are synced.

// GET /internal/activity: asked when a session may be idle, and for its usage, every 30 seconds at most.
export interface DaemonActivity {
  // Milliseconds since the agent last worked: 0 during a turn, null if there was none. A turn that waits for a person's answer is
  // not work.
  agentIdleMs: number | null;
  // The processor time of the sandbox since its start, by its control group; null if it does not see that.
  cpuMs: number | null;
  // The memory of the sandbox; null as above.
  memoryBytes: number | null;
  // The space that the files of the user occupy; null before the first measurement.
  diskBytes: number | null;
}

// POST /internal/rehearse             starts a process as POST /processes does, and forgets it
// GET /internal/outbox?waitMs=        OutboxList: what has happened and the server has not recorded yet. Answers when there is an entry, or
//                                     after `waitMs`
// POST /internal/outbox {recorded}    the server has recorded the entries with these ids: they are forgotten
export interface OutboxList {
  entries: OutboxEntry[];
  // How much goes on that will make an entry.
  open: number;
  // How many entries there are besides these. Absent from daemons of an earlier version.
  left?: number;
}

export interface OutboxEntry {
  // Unique. An entry can be delivered more than once, with the same id.
  id: string;
  type: "process.exited" | RunNews;
  at: string;
  // For RunNews: the Run (daemon/runs.ts).
  data: Record<string, unknown>;
}

// A run has begun, waits for an answer, no longer waits, or has ended. They come in this order for each run, and `revision` grows. A run
// that ends before it begins has only the last.
export type RunNews = "run.started" | "run.needs_input" | "run.continued" | "run.finished";

// POST /internal/setup: fetches the session's source and runs its command, in a terminal called "Setup". Idempotent: an attempt that
// has ended or is under way is left alone, and one that was interrupted begins again. 202
export interface SetupRequest {
  attempt: number;
  // Everything, or only the command, because the source is there.
  left: "source" | "command";
  git: SetupRepository | null;
  // null: the repository's own command or, if it has none, `defaultCommand`.
  command: string | null;
  defaultCommand: string | null;
  image: SetupImage;
  // Why no image is built for this session, as the end of a sentence. null: images are built.
  noBuilds: string | null;
}
// For the image that the repository's devcontainer.json names.
export interface SetupImage {
  // Patterns (image-patterns.ts). null: this kind of sandbox has no image.
  allowed: string[] | null;
  // The repository's image that the sandbox has, or that could not be started.
  used: string | null;
  failed: string | null;
  // Why it failed, if the server can say that to people.
  reason: string | null;
}
export interface SetupRepository {
  url: string;
  ref?: string;
  depth?: number;
  // Below the workspace.
  path?: string;
  submodules?: boolean;
  // Whether the server adds a credential to requests for this repository.
  hasCredential: boolean;
}
// GET /internal/setup?seen={status}    answers when the status differs from `seen`, or after 15 seconds
export interface SetupReport {
  // `source`: it is fetched; `image`: the source is there, and the sandbox has to start again in `image`; `build`: the same, but the image
  // has to be built first; `command`: the command runs; `done`; `failed`: the source could not be fetched.
  status: "source" | "image" | "build" | "command" | "done" | "failed";
  image?: string;
  // Why the source failed; otherwise null.
  reason: string | null;
  // null: there was no command, or it has not ended.
  exitCode: number | null;
}
// GET /internal/setup/build      the files for the build, a tar archive of at most MAX_BUILD_BYTES, during the status `build`
// POST /internal/setup/build     BuildNews: a part of the build's log, and why the build has failed. Idempotent
export const MAX_BUILD_BYTES = 256 * 2 ** 20;
export interface BuildNews {
  // The place of `text` in the log, in bytes.
  from: number;
  text: string;
  // A sentence. Absent while the build goes on.
  failed?: string;
}
