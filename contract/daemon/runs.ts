// Runs: an agent's work that belongs to the session, not to a connection. The part of the daemon's API (daemon-internal.ts) that only the
// server calls, for the partner API. Plain types, no imports but types.
import type { ConversationItem, PermissionRule } from "../agent.ts";
import type { FormField, PermissionItem, QuestionAnswer } from "../questions.ts";

export type { PermissionRule } from "../agent.ts";

// POST /internal/runs                    {id, run: StartRun} -> 201 Run. With an id that it knows: 200, the run as it is, and nothing
//                                        starts again. 400 if it cannot start as asked, 404 if there is no such conversation; then
//                                        there is no run
// GET  /internal/runs/{id}               Run
// GET  /internal/runs/{id}/events        server-sent events (RunEvent) until the end of the run. `Last-Event-ID` continues after that
//                                        event; if the daemon no longer has it, the first event is `items`. 204 if the client has all
// POST /internal/runs/{id}/messages      {id, prompt, attachments?}: a further prompt, after the turn in progress. 204; an id that was
//                                        seen before changes nothing. 409 `run_ended`
// POST /internal/runs/{id}/interrupt     204, also if the run has ended
// POST /internal/runs/{id}/answer        RunAnswer: answers a question. 204; 409 `agent_answered`
export interface StartRun {
  prompt: string;
  // Default: a new conversation. If it is busy, the run waits.
  conversationId?: string;
  attachments?: RunAttachment[];
  // One of the agent's modes. Default: the mode in which the agent asks, unless `permissions` is "allow".
  mode?: string;
  // One of the models that the agent offers.
  model?: string;
  // How questions for permission are answered. "ask" (the default): by a person or with POST …/answer.
  permissions?: RunPermissions;
  // How many requests the agent may send to the model, and how many tokens these may use, input and output together.
  maxTurns?: number;
  maxTokens?: number;
  // The time for the whole run, waiting for answers included. A pause does not count.
  timeoutMs?: number;
}

// A file of the workspace or lines of it, which count from 1; or an image in base64, at most 3 MiB.
export type RunAttachment = { path: string; fromLine?: number; toLine?: number } | { image: string };

export type RunPermissions = "ask" | "allow" | PermissionRule[];

// `queued`: it waits for its conversation or for other runs. `needs_input`: it waits for the answer to a question. `lost`: the sandbox was
// stopped while it worked.
export type RunStatus = "queued" | "running" | "needs_input" | "succeeded" | "failed" | "interrupted" | "lost";

// Why a run has ended as `interrupted` (all but `error`) or `failed` (`error`). `requested`: by POST …/interrupt; `person`: in the
// workspace; `session_ended`: the server says that, not the daemon.
export type RunReason = "requested" | "person" | "timeout" | "max_turns" | "max_tokens" | "session_ended" | "error";

export interface Run {
  runId: string;
  // null until it has one: a queued run without a conversation gets one when it begins.
  conversationId: string | null;
  status: RunStatus;
  // null unless it is `interrupted` or `failed`.
  reason: RunReason | null;
  // Of the error (docs/errors.md), if it has failed.
  code: string | null;
  // A sentence for people about how it ended.
  message: string | null;
  // The first 2,000 characters.
  prompt: string;
  permissions: RunPermissions;
  mode: string | null;
  model: string | null;
  maxTurns: number | null;
  maxTokens: number | null;
  timeoutMs: number | null;
  // The agent's last message, at most 32 KiB.
  text: string;
  // The files that have changed, at most 200, and how many there are.
  files: RunFile[];
  fileCount: number;
  // The agent's requests to the model. Like `tokens`, only known for the model of the server.
  turns: number;
  tokens: { input: number; output: number } | null;
  // If the agent reports it.
  cost: { amount: number; currency: string } | null;
  waitsFor: (RunQuestion | RunForm)[];
  // Prompts after the first one that the agent does not have yet.
  waitingMessages: number;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  // Grows with every report. A report with a lower one is older.
  revision: number;
}

export interface RunFile {
  path: string;
  kind: "added" | "modified" | "deleted";
  // Present only for texts.
  linesAdded?: number;
  linesRemoved?: number;
}

// A permission that a run waits for. `itemId` names the item of the conversation.
export interface RunQuestion {
  itemId: string;
  kind: "permission";
  title: string;
  // `kind` as in PermissionRule. `input` is JSON, at most 4 KiB.
  tool: { kind: PermissionRule["tool"]; title: string; input?: string };
  options: PermissionItem["options"];
}

// A form to fill in, or an address to open.
export type RunForm = { itemId: string; title: string } & ({ kind: "form"; fields: FormField[] } | { kind: "url"; url: string });

export type RunAnswer = { itemId: string } & QuestionAnswer;

// The `data:` of a server-sent event. The id of an event is unique in the session.
export type RunEvent =
  // All items of the run so far. They replace those that the client has.
  | { type: "items"; items: ConversationItem[] }
  // Replaces the item with the same id, or adds a new one at the end.
  | { type: "item"; item: ConversationItem }
  // More text for an item of the kind `assistant` or `thought`.
  | { type: "append"; itemId: string; text: string }
  // The status has changed, or what the run waits for.
  | { type: "run"; run: Run }
  // The last one.
  | { type: "end"; run: Run };
