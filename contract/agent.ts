// The coding agent as the browser and a partner's backend see it. The daemon speaks the Agent Client Protocol with the
// program and keeps conversations on disk in the shapes below, whatever the agent. Plain types, no imports but types:
// the browser loads this file too. Paths are relative to the workspace where they lie inside it, else absolute.
import type { AgentState } from "./daemon.ts";

// GET    /agent                       AgentState (daemon.ts)
// POST   /agent/start, /agent/stop    AgentState
// GET    /agent/conversations         {conversations: Conversation[]}, the last used first
// GET    /agent/conversations/{id}    {conversation, items}
// DELETE /agent/conversations/{id}    204
// POST   /agent/prompt    PromptRequest -> server-sent events, each `data:` one AgentMessage about this conversation. The
//                         first is `conversation`, the last `turn`. A stopped agent is started. Hanging up cancels the turn.
//                         409 code `agent_busy` (a turn is under way), `agent_unconfigured`, `agent_unavailable`,
//                         `agent_none`, `agent_conversation_full`. What goes wrong later is in the stream: `turn` with stopReason `error`.
// POST   /agent/answer    {conversationId, itemId, optionId}: answers a permission request. 204; 409 when it is answered
// POST   /agent/cancel    {conversationId}: ends the turn. 204, also when none is under way
export interface PromptRequest {
  text: string;
  // Absent: a new conversation.
  conversationId?: string;
  // What becomes of permission requests during this turn. `ask` (default): they wait for /agent/answer or a browser.
  permissions?: "ask" | "allow" | "reject";
}

export interface Conversation {
  id: string;
  // From the first prompt until the agent names it.
  title: string;
  createdAtMs: number;
  updatedAtMs: number;
  // A turn is under way: a prompt now would be refused.
  busy: boolean;
  usage: Usage | null;
  // How the agent works (ask first, edit freely, plan only ...), where it has several ways.
  modes: { current: string; available: AgentMode[] } | null;
}

export interface AgentMode {
  id: string;
  name: string;
  description?: string;
}

export interface Usage {
  // Tokens in the model's context now, and how many fit, where the agent tells.
  contextUsed?: number;
  contextSize?: number;
  // Tokens of all turns of this conversation, where the agent tells.
  inputTokens?: number;
  outputTokens?: number;
  cost?: { amount: number; currency: string };
}

// What a conversation consists of, in order. `id` is unique in the conversation.
export type ConversationItem = { id: string; atMs: number } & (
  | { kind: "user"; text: string }
  // Markdown; grows by `append` while the turn is under way.
  | { kind: "assistant"; text: string }
  | { kind: "thought"; text: string }
  | ToolItem
  // One per conversation and turn; replaced as a whole when the agent changes it.
  | { kind: "plan"; entries: PlanEntry[] }
  | PermissionItem
  // Something to know that nobody said: cancelled, the agent was restarted, an error in plain words.
  | { kind: "notice"; level: "info" | "error"; text: string }
);

export interface ToolItem {
  kind: "tool";
  title: string;
  toolKind: "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";
  status: "pending" | "running" | "completed" | "failed";
  // Files that it works on.
  locations: { path: string; line?: number }[];
  content: ToolContent[];
  // What the agent passed to the tool, as JSON text, cut at 16 KiB.
  input?: string;
}

export type ToolContent =
  // Markdown or plain output, cut at 64 KiB.
  | { type: "text"; text: string }
  // An edit of a file. `oldText` is null when the file is new.
  | { type: "diff"; path: string; oldText: string | null; newText: string };

export interface PlanEntry {
  text: string;
  status: "pending" | "in_progress" | "completed";
  priority: "high" | "medium" | "low";
}

export interface PermissionItem {
  kind: "permission";
  // The tool item that it is about.
  toolItemId: string;
  title: string;
  options: { id: string; name: string; kind: "allow_once" | "allow_always" | "reject_once" | "reject_always" }[];
  // null while it waits.
  outcome: null | { type: "selected"; optionId: string } | { type: "cancelled" };
}

// WebSocket /agent/stream: one JSON message a frame, both ways. After `hello` a client opens the conversations it shows and
// gets each one whole, then everything that happens in it. After a reconnect it does the same and replaces what it had.
export type AgentMessage =
  | { type: "hello"; agent: AgentState; conversations: Conversation[] }
  | { type: "agent"; agent: AgentState }
  // A conversation is new or its head has changed (title, busy, usage, modes).
  | { type: "conversation"; conversation: Conversation }
  | { type: "deleted"; conversationId: string }
  // The answer to `open`: the whole conversation. Replaces what the client knew of it.
  | { type: "opened"; conversationId: string; items: ConversationItem[] }
  // An item is new (it goes to the end), or replaces the one with its id.
  | { type: "item"; conversationId: string; item: ConversationItem }
  // More text for an `assistant` or `thought` item.
  | { type: "append"; conversationId: string; itemId: string; text: string }
  // A turn has ended.
  | { type: "turn"; conversationId: string; stopReason: StopReason; message?: string }
  // The answer to `prompt` without a conversation and to `create`: `requestId` as it was sent.
  | { type: "created"; requestId: string; conversation: Conversation }
  // A message of this client could not be followed. `message` is for people.
  | { type: "refused"; requestId?: string; conversationId?: string; code: string; message: string };

export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled" | "error";

export type AgentCommand =
  | { type: "open"; conversationId: string }
  | { type: "close"; conversationId: string }
  | { type: "create"; requestId: string }
  // Without a conversation a new one is made, opened for this client, and told of by `created`.
  | { type: "prompt"; requestId: string; conversationId?: string; text: string; files?: string[] }
  | { type: "cancel"; conversationId: string }
  | { type: "answer"; conversationId: string; itemId: string; optionId: string }
  | { type: "mode"; conversationId: string; modeId: string }
  | { type: "delete"; conversationId: string };

// What differs from git's HEAD, or from the files as they were when the session began where there is no git.
// GET  /changes                    Changes
// GET  /changes/original?path=     the bytes before the change; 404 for an added file
// POST /changes/revert {path}      puts a file back as it was (an added one is deleted). 204
export interface Changes {
  base: "git" | "start" | "none";
  // "HEAD (main)" or "the session's start", for people.
  baseName: string;
  changes: Change[];
  truncated: boolean;
}

export interface Change {
  path: string;
  kind: "added" | "modified" | "deleted";
  // Lines, where it is text and small enough to count.
  linesAdded?: number;
  linesDeleted?: number;
}
