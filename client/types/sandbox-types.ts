import type { FormQuestion, PermissionQuestion, UrlQuestion } from "./question-types.ts";

// The bodies of a sandbox's API: commands, files and the coding agent.

export interface ExecOptions {
  // Relative to the workspace.
  cwd?: string;
  env?: Record<string, string>;
  stdin?: string;
  // The command is killed after this time.
  timeoutMs?: number;
  signal?: AbortSignal;
}

export type ExecEvent =
  | { type: "stdout" | "stderr"; data: string }
  | { type: "exit"; code: number | null; signal: string | null; timedOut?: boolean };

export interface ExecResult {
  stdout: string;
  stderr: string;
  // null if a signal ended the command.
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
}

export interface ProcessOptions {
  // Relative to the workspace.
  cwd?: string;
  env?: Record<string, string>;
  // Runs in a pseudo-terminal of this size.
  pty?: { cols: number; rows: number };
  // Whether `write` is possible.
  stdin?: boolean;
  // The process is killed after this time. A pause does not count.
  timeoutMs?: number;
  // For people, in lists and events.
  name?: string;
}

export interface ProcessData {
  id: string;
  name: string | null;
  command: string | string[];
  cwd: string;
  pty: boolean;
  pid: number;
  // `lost`: the sandbox was stopped while it ran.
  status: "running" | "exited" | "lost";
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  startedAt: string;
  endedAt: string | null;
  outputBytes: number;
  // How many of the oldest bytes are no longer kept.
  droppedBytes: number;
}

export type ProcessEvent =
  // The first one if the request has started the process.
  | { type: "start"; process: ProcessData }
  | { type: "output"; stream: "stdout" | "stderr"; data: string }
  // This many bytes were dropped before they were read.
  | { type: "dropped"; bytes: number }
  | { type: "end"; process: ProcessData };

export interface FileEntry {
  name: string;
  type: "file" | "folder" | "link" | "other";
  // The type of a link's target. Missing if the link is broken or leads out of the workspace.
  target?: "file" | "folder";
  size: number;
  modifiedAtMs: number;
}

export interface WrittenFile {
  path: string;
  size: number;
  modifiedAtMs: number;
  etag: string;
}

export interface AgentState {
  status: "none" | "unavailable" | "unconfigured" | "stopped" | "starting" | "ready" | "failed";
  name: string | null;
  missing?: string[];
  message?: string;
  // With `ready`: whether prompts in the workspace can have images.
  acceptsImages?: boolean;
  // With `unconfigured`: how a person can sign in, in the workspace.
  signIn?: { id: string; name: string; description?: string }[];
}

export interface PromptOptions {
  // Continues an earlier conversation.
  conversationId?: string;
  // How to answer the agent's permission requests. `ask` waits for a user in the workspace, or for `answer`.
  permissions?: "ask" | "allow" | "reject";
  signal?: AbortSignal;
}

export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled" | "error";

// The messages of a turn: `conversation` first, `turn` last.
export type AgentMessage =
  | { type: "conversation"; conversation: Conversation }
  // Replaces the item with the same id, or adds a new one.
  | { type: "item"; conversationId: string; item: ConversationItem }
  // Appends text to an item.
  | { type: "append"; conversationId: string; itemId: string; text: string }
  // With `error`, `code` is one of docs/errors.md, such as `model_key_refused`.
  | { type: "turn"; conversationId: string; stopReason: StopReason; code?: string; message?: string };

export interface Conversation {
  id: string;
  title: string;
  renamed: boolean;
  createdAtMs: number;
  updatedAtMs: number;
  busy: boolean;
  // Why the turn in progress waits for its model: `model_slow`, or the code of an error after which the agent may try again.
  modelWait: { code: string; attempt?: number; attempts?: number } | null;
  // The actions that a person has allowed for the whole conversation, such as "running commands".
  alwaysAllowed: string[];
  // The rules that decide about permissions now: those of the run that works here, then those of the template.
  rules: { tool: string; path?: string; command?: string; allow: boolean }[];
}

export type ConversationItem = { id: string; atMs: number } & (
  | {
      kind: "user";
      text: string;
      context?: { path: string; selection?: { fromLine: number; toLine: number; text: string } }[];
      images?: string[];
      checkpoint?: Checkpoint;
    }
  | { kind: "assistant" | "thought"; text: string }
  | {
      kind: "tool";
      title: string;
      toolKind: string;
      status: "pending" | "running" | "completed" | "failed";
      locations: { path: string; line?: number }[];
      content: ({ type: "text"; text: string } | { type: "diff"; path: string; hunks: AgentHunk[] })[];
      input?: string;
    }
  | { kind: "changes"; before: string; after: string | null; files: AgentFileChange[]; note?: string }
  | { kind: "plan"; entries: { text: string; status: "pending" | "in_progress" | "completed"; priority: "high" | "medium" | "low" }[] }
  // They wait for `answer`, or for a person in the workspace.
  | PermissionQuestion
  | FormQuestion
  | UrlQuestion
  | { kind: "notice"; level: "info" | "warning" | "error"; text: string; code?: string; detail?: string }
  | { kind: "restore"; text: string; checkpoint: Checkpoint }
);

// A file that changed during a turn.
export interface AgentFileChange {
  path: string;
  kind: "added" | "modified" | "deleted";
  linesAdded?: number;
  linesRemoved?: number;
  note?: string;
  saved?: true;
  hunks: AgentHunk[];
}

export interface AgentHunk {
  lines: { kind: "added" | "removed" | "same"; text: string }[];
  hiddenLines?: number;
  decision?: "accepted" | "rejected";
}

// The files of the workspace before a turn. `id` is null if they could not be copied.
export interface Checkpoint {
  id: string | null;
  note?: string;
}

export interface AgentAnswer {
  text: string;
  conversationId: string;
  stopReason: StopReason;
}

// The bytes of a file, as the runtime's own types name them: `Uint8Array` before TypeScript 5.7, and later
// `Uint8Array<ArrayBuffer>`, which fits into a Response or a Blob.
export type Bytes = ReturnType<InstanceType<typeof TextEncoder>["encode"]>;
