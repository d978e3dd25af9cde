// The API of the coding agent, for the browser and for a partner's backend. The daemon talks to the agent over the Agent
// Client Protocol and stores conversations in the format below, which is the same for every agent. Plain types, no imports
// but types: the browser loads this file too. Paths inside the workspace are relative to it; other paths are absolute.
import type { AgentState } from "./daemon.ts";
import type { Question, QuestionAnswer } from "./questions.ts";

// GET    /agent                       AgentState (daemon.ts)
// POST   /agent/start, /agent/stop    AgentState
// POST   /agent/sign-in               {methodId}, one of AgentState.signIn -> 201 {terminalId}. The agent starts again when a person has
//                                     signed in there
// GET    /agent/conversations         {conversations: Conversation[]}, the most recently used first
// GET    /agent/conversations/{id}    {conversation, items}
// DELETE /agent/conversations/{id}    204
// POST   /agent/prompt    PromptRequest -> server-sent events; each `data:` is one AgentMessage of this conversation. The
//                         first is `conversation`, the last is `turn`. Starts a stopped agent. Closing the connection
//                         cancels the turn. 409 `agent_busy` (a turn is in progress), `agent_unconfigured`,
//                         `agent_unavailable`, `agent_none`, `agent_conversation_full`. Later errors are in the stream:
//                         `turn` with stopReason `error`, a `code` and a `message`.
// POST   /agent/answer    {conversationId, itemId} & QuestionAnswer: answers a permission request, a form or an address to open. 204; 409
//                         if already answered
// POST   /agent/cancel    {conversationId}: cancels the turn. 204, even if none is in progress
// POST   /agent/images    the bytes of an image, for a prompt -> {id}
// GET    /agent/images/{id}    the bytes
export interface PromptRequest {
  text: string;
  // Default: a new conversation.
  conversationId?: string;
  // How to answer permission requests during this turn. With `ask` (the default) they wait for /agent/answer or a browser.
  permissions?: "ask" | "allow" | "reject";
}

// The first rule that matches decides. Without one, the agent asks.
export interface PermissionRule {
  tool: "read" | "edit" | "delete" | "move" | "search" | "shell" | "fetch" | "other" | "*";
  // A glob, relative to the workspace, for tools that work on files: `*` does not match a slash, `**` does. If the rule allows, all files
  // of the tool must match, and the tool must name at least one. If it denies, one is enough.
  path?: string;
  // A glob, for `shell`. In a rule that allows, `*` matches no character that could begin another command or redirect it.
  command?: string;
  allow: boolean;
}

export interface Conversation {
  id: string;
  // The first line of the first prompt, until the agent sets a title or a person renames the conversation.
  title: string;
  renamed: boolean;
  createdAtMs: number;
  updatedAtMs: number;
  // A turn is in progress, and prompts are refused.
  busy: boolean;
  usage: Usage | null;
  // The agent's modes, such as ask first, edit freely or plan only; null if it has none.
  modes: AgentChoice | null;
  // The models that the agent offers; null if it offers none, or if the server decides about the model.
  models: AgentChoice | null;
  // The agent's other options, such as how long it thinks.
  options: AgentOption[];
  // A prompt can start with one of them: `/name`.
  commands: SlashCommand[];
  // Prompts that wait for the end of the turn. After a turn that failed or was cancelled they stay until a person sends them.
  queue: QueuedPrompt[];
  // Why the turn in progress waits for its model; null if it does not. Only known for the model of the server.
  modelWait: ModelWait | null;
  // The actions that a person has allowed for the whole conversation, such as "running commands". For people.
  alwaysAllowed: string[];
  // The rules that decide about permissions now: those of the run that works in this conversation, then those of the template.
  rules: PermissionRule[];
}

export interface ModelWait {
  // `model_slow`: the model has not begun its answer for two seconds. Otherwise the error of the last request (docs/errors.md), after
  // which the agent may try again: that would be `attempt`, and the turn fails after `attempts`.
  code: string;
  attempt?: number;
  attempts?: number;
}

export interface AgentChoice {
  current: string;
  available: { id: string; name: string; description?: string }[];
}

export type AgentOption = { id: string; name: string; description?: string } & (
  | ({ type: "choice" } & AgentChoice)
  | { type: "boolean"; current: boolean }
);

// A conversation that the agent has and the daemon does not, such as one that a person has had in a terminal.
export interface AgentSession {
  sessionId: string;
  title: string;
  updatedAtMs: number | null;
}

export interface SlashCommand {
  name: string;
  description: string;
  // Describes the words that follow the name, for people.
  hint?: string;
}

// The prompt of a person: a text, the parts of files that it refers to, and the ids of images.
export interface Prompt {
  text: string;
  context?: ContextPart[];
  images?: string[];
}

export type QueuedPrompt = Prompt & { id: string };

// A file, or the lines of it that a person has selected. Lines count from 1. `text` is the selected text, which may be unsaved.
export interface ContextPart {
  path: string;
  selection?: { fromLine: number; toLine: number; text: string };
}

export interface Usage {
  // The tokens in the model's context and the size of the context, if the agent reports them.
  contextUsed?: number;
  contextSize?: number;
  // The tokens of all turns of this conversation, if the agent reports them.
  inputTokens?: number;
  outputTokens?: number;
  cost?: { amount: number; currency: string };
}

// The items of a conversation, in order. `id` is unique in the conversation.
export type ConversationItem = { id: string; atMs: number } &
  // `checkpoint` is set as soon as the files are saved, before the agent reads the prompt.
  (
    | ({ kind: "user"; checkpoint?: Checkpoint } & Prompt)
    // Markdown; `append` messages extend it during the turn.
    | { kind: "assistant"; text: string }
    | { kind: "thought"; text: string }
    | ToolItem
    | ChangesItem
    // A turn has one plan, which is replaced as a whole when the agent changes it.
    | { kind: "plan"; entries: PlanEntry[] }
    // A permission, a form or an address to open: the turn waits for a person.
    | Question
    // A message from the daemon: the turn was cancelled, the agent was restarted, or an error; or one from the agent.
    // `code` of an error: see docs/errors.md. `detail` is Markdown.
    | { kind: "notice"; level: "info" | "warning" | "error"; text: string; code?: string; detail?: string }
    // A person has restored a checkpoint. `checkpoint` has the files as they were before that.
    | { kind: "restore"; text: string; checkpoint: Checkpoint }
  );

// The files of the workspace at one moment.
export interface Checkpoint {
  // null if it could not be made.
  id: string | null;
  // Why it could not be made, or which files it leaves out. For people.
  note?: string;
}

export interface ToolItem {
  kind: "tool";
  title: string;
  toolKind: "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";
  status: "pending" | "running" | "completed" | "failed";
  // The files that the tool works on.
  locations: { path: string; line?: number }[];
  content: ToolContent[];
  // The tool's input as JSON text, truncated to 16 KiB.
  input?: string;
}

export type ToolContent =
  // Markdown or plain output, truncated to 64 KiB.
  | { type: "text"; text: string }
  // An edit as the agent announces it, before it is made. A finished tool has none: the item of the kind `changes` says what happened.
  | { type: "diff"; path: string; hunks: ChangeHunk[] };

// The files that changed during a turn, by the agent or by others: the daemon compares the files before the turn with those after it. One
// per turn that changed something, and replaced while the turn goes on.
export interface ChangesItem {
  kind: "changes";
  // The ids of the checkpoints before and after the turn. The second is null during the turn, and then nothing can be reviewed.
  before: string;
  after: string | null;
  files: FileChange[];
  // Sentences for people: files that are not listed, and others who may have changed files.
  note?: string;
}

export interface FileChange {
  path: string;
  kind: "added" | "modified" | "deleted";
  // Present only for texts.
  linesAdded?: number;
  linesRemoved?: number;
  // A sentence for people about a change that lines cannot show: other permissions, a link, a binary file.
  note?: string;
  // Someone saved the file in the workspace during the turn, so a part of the change may be theirs.
  saved?: true;
  // The parts that a person can accept or reject. A file that is not a text is one part without lines. Empty if the file is too large
  // to bring back.
  hunks: ChangeHunk[];
}

// Changes close to each other, with a few lines of context.
export interface ChangeHunk {
  lines: DiffLine[];
  // How many further lines it has. They are too many to send.
  hiddenLines?: number;
  decision?: ReviewDecision;
}

export interface DiffLine {
  kind: "added" | "removed" | "same";
  text: string;
}

export type ReviewDecision = "accepted" | "rejected";

export interface PlanEntry {
  text: string;
  status: "pending" | "in_progress" | "completed";
  priority: "high" | "medium" | "low";
}

// WebSocket /agent/stream: one JSON message per frame, in both directions. After `hello`, a client opens the conversations
// that it shows. It gets each one completely, and then its changes. After a reconnect it does the same again.
export type AgentMessage =
  | { type: "hello"; agent: AgentState; conversations: Conversation[] }
  | { type: "agent"; agent: AgentState }
  // A conversation is new, or its title or another of its fields has changed.
  | { type: "conversation"; conversation: Conversation }
  | { type: "deleted"; conversationId: string }
  // The response to `open`: all items. They replace the ones that the client has.
  | { type: "opened"; conversationId: string; items: ConversationItem[] }
  // Replaces the item with the same id, or adds a new item at the end.
  | { type: "item"; conversationId: string; item: ConversationItem }
  // More text for an `assistant` or `thought` item.
  | { type: "append"; conversationId: string; itemId: string; text: string }
  // A turn has ended. With `error`, `code` is one of docs/errors.md and `message` is for people.
  | { type: "turn"; conversationId: string; stopReason: StopReason; code?: string; message?: string }
  // The response to `create`, `prepare` and `adopt`, and to `prompt` without a conversation. `requestId` is the one of the request.
  | { type: "created"; requestId: string; conversation: Conversation }
  // The response to `sessions`.
  | { type: "sessions"; requestId: string; sessions: AgentSession[] }
  // A command of this client failed. `message` is for people.
  | { type: "refused"; requestId?: string; conversationId?: string; code: string; message: string };

export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled" | "error";

export type AgentCommand =
  | { type: "open"; conversationId: string }
  | { type: "close"; conversationId: string }
  | { type: "create"; requestId: string }
  // Without a conversation, the daemon creates one, opens it for this client, and sends `created`.
  // `restoreItemId` restores the checkpoint of that item first.
  | ({ type: "prompt"; requestId: string; conversationId?: string; restoreItemId?: string } & Prompt)
  // A new conversation that others see only after its first prompt. The agent says at once what it offers.
  | { type: "prepare"; requestId: string }
  // Sends the prompt after the turn in progress. Without one, it is sent at once.
  | ({ type: "queue"; requestId: string; conversationId: string } & Prompt)
  | { type: "unqueue"; conversationId: string; queuedId: string }
  | { type: "sendQueued"; conversationId: string; queuedId: string }
  | { type: "cancel"; conversationId: string }
  | ({ type: "answer"; conversationId: string; itemId: string } & QuestionAnswer)
  // Takes one of `alwaysAllowed` back, so that the agent asks again.
  | { type: "disallow"; conversationId: string; action: string }
  | { type: "rename"; conversationId: string; title: string }
  | { type: "mode"; conversationId: string; modeId: string }
  | { type: "model"; conversationId: string; modelId: string }
  | { type: "option"; conversationId: string; optionId: string; value: string | boolean }
  // Asks a running agent for its sessions, and makes a conversation of one of them.
  | { type: "sessions"; requestId: string }
  | { type: "adopt"; requestId: string; sessionId: string }
  // Restores the files to the checkpoint of an item. The response is an item of the kind `restore`.
  | { type: "restore"; conversationId: string; itemId: string }
  // Decides about hunks of a file in an item of the kind `changes`, or about all hunks that are undecided. `rejected` returns them to
  // their state before the turn, and `undecided` takes a decision back. Refused with `changed` if that would touch a later change.
  | {
      type: "review";
      requestId?: string;
      conversationId: string;
      itemId: string;
      path: string;
      hunks?: number[];
      decision: ReviewDecision | "undecided";
    }
  | { type: "delete"; conversationId: string };
