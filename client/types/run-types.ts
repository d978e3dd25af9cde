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
