// What a sandbox sends and takes: commands, files and the coding agent.

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
  // null when a signal ended it.
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
}

export interface FileEntry {
  name: string;
  type: "file" | "folder" | "link" | "other";
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
}

export interface PromptOptions {
  // Go on with an earlier conversation.
  conversationId?: string;
  // What becomes of the agent's questions whether it may do something. `ask` waits for somebody in the workspace.
  permissions?: "ask" | "allow" | "reject";
  signal?: AbortSignal;
}

export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled" | "error";

// What happens while the agent works on a prompt: the conversation first, the end of the turn last.
export type AgentMessage =
  | { type: "conversation"; conversation: Conversation }
  // An item is new, or replaces the one with its id.
  | { type: "item"; conversationId: string; item: ConversationItem }
  // More text for an item.
  | { type: "append"; conversationId: string; itemId: string; text: string }
  | { type: "turn"; conversationId: string; stopReason: StopReason; message?: string };

export interface Conversation {
  id: string;
  title: string;
  createdAtMs: number;
  updatedAtMs: number;
  busy: boolean;
}

export type ConversationItem = { id: string; atMs: number } & (
  | { kind: "user" | "assistant" | "thought"; text: string }
  | {
      kind: "tool";
      title: string;
      toolKind: string;
      status: "pending" | "running" | "completed" | "failed";
      locations: { path: string; line?: number }[];
      content: ({ type: "text"; text: string } | { type: "diff"; path: string; oldText: string | null; newText: string })[];
      input?: string;
    }
  | { kind: "plan"; entries: { text: string; status: "pending" | "in_progress" | "completed"; priority: "high" | "medium" | "low" }[] }
  | {
      kind: "permission";
      toolItemId: string;
      title: string;
      options: { id: string; name: string; kind: "allow_once" | "allow_always" | "reject_once" | "reject_always" }[];
      outcome: null | { type: "selected"; optionId: string } | { type: "cancelled" };
    }
  | { kind: "notice"; level: "info" | "error"; text: string }
);

export interface AgentAnswer {
  text: string;
  conversationId: string;
  stopReason: StopReason;
}
