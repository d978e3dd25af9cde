import type { FormField } from "./question-types.ts";
import type { ConversationItem } from "./sandbox-types.ts";

// The work of a session's agent on a prompt, which goes on without its caller.
export interface StartRun {
  prompt: string;
  // The conversation to continue. Default: a new one.
  conversationId?: string;
  attachments?: RunAttachment[];
  // One of the agent's modes, and one of the models that it offers.
  mode?: string;
  model?: string;
  // How questions for permission are answered. Default: `ask`.
  permissions?: RunPermissions;
  // Limits of requests to the server's model, of their tokens, and of the time.
  maxTurns?: number;
  maxTokens?: number;
  timeoutMs?: number;
}

// A file of the workspace or lines of it, or an image in base64.
export type RunAttachment = { path: string; fromLine?: number; toLine?: number } | { image: string };

export type RunPermissions = "ask" | "allow" | PermissionRule[];

// The first rule that matches decides; the rest asks. `path` and `command` are globs.
export type PermissionRule =
  | { tool: "read" | "edit" | "delete" | "move" | "search"; path?: string; allow: boolean }
  | { tool: "shell"; command?: string; allow: boolean }
  | { tool: "fetch" | "other" | "*"; allow: boolean };

export type RunStatus = "queued" | "running" | "needs_input" | "succeeded" | "failed" | "interrupted" | "lost";

export interface RunStarted {
  runId: string;
  status: RunStatus;
}

export interface RunSummary extends RunStarted {
  sessionId: string;
  reason: "requested" | "person" | "timeout" | "max_turns" | "max_tokens" | "session_ended" | "error" | null;
  // Of the error, if it has failed.
  code: string | null;
  // How it ended, for people.
  message: string | null;
  conversationId: string | null;
  // The first 2,000 characters.
  prompt: string;
  mode: string | null;
  model: string | null;
  maxTurns: number | null;
  maxTokens: number | null;
  timeoutMs: number | null;
  turns: number;
  // null if the agent does not use the server's model.
  tokens: { input: number; output: number } | null;
  cost: { amount: number; currency: string } | null;
  fileCount: number;
  waitingMessages: number;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
}

export interface RunData extends RunSummary {
  permissions: RunPermissions;
  // The agent's last message.
  text: string;
  // At most 200.
  files: { path: string; kind: "added" | "modified" | "deleted"; linesAdded?: number; linesRemoved?: number }[];
  waitsFor: (RunQuestion | RunForm)[];
}

export interface RunQuestion {
  itemId: string;
  kind: "permission";
  title: string;
  tool: { kind: string; title: string; input?: string };
  options: { id: string; name: string; kind: string }[];
}

export interface RunAnswer {
  itemId: string;
  // For a permission: the `id` of one of its options.
  optionId?: string;
  // For a form or an address. With `cancel` the agent goes on without an answer.
  action?: "accept" | "decline" | "cancel";
  // With `accept`, the values of the form by the `id` of its fields.
  values?: Record<string, string | number | boolean | string[]>;
}

export interface ListRuns {
  status?: RunStatus;
  // The number of runs per request (1 to 100), not in total.
  pageSize?: number;
}

export type RunEvent =
  // All items so far. They replace those that you have.
  | { type: "items"; items: ConversationItem[] }
  // Replaces the item with the same id, or adds a new one.
  | { type: "item"; item: ConversationItem }
  // Appends text to an item.
  | { type: "append"; itemId: string; text: string }
  // The status has changed, or what the run waits for.
  | { type: "run"; run: RunNow }
  | { type: "end"; run: RunNow };

// A run without what the events before have said.
export type RunNow = Omit<RunData, "sessionId">;

// A form to fill in, or an address to open.
export type RunForm =
  | { itemId: string; title: string; kind: "form"; fields: FormField[] }
  | { itemId: string; title: string; kind: "url"; url: string };
