import type * as wire from "./wire.ts";

// The bodies of a sandbox's API: commands, processes, files and the coding agent.

export type { AgentFileChange, AgentHunk, AgentState, Conversation, ConversationItem, FileEntry, FormField, WrittenFile } from "./wire.ts";

export type ExecOptions = Omit<wire.ExecRequest, "command"> & { signal?: AbortSignal };
// An error is thrown.
export type ExecEvent = Exclude<wire.ExecEvent, { type: "error" }>;

export interface ExecResult {
  stdout: string;
  stderr: string;
  // null if a signal ended the command.
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
}

export type ProcessOptions = Omit<wire.StartProcess, "command" | "args">;
export type ProcessData = wire.Process;
export type ProcessEvent = wire.ProcessEvent;

// The messages of a turn: `conversation` first, `turn` last.
export type AgentMessage = Exclude<wire.AgentMessage, { type: "agent" }>;
export type StopReason = Extract<AgentMessage, { type: "turn" }>["stopReason"];
export type PromptOptions = Omit<wire.PromptRequest, "text"> & { signal?: AbortSignal };

export interface AgentAnswer {
  text: string;
  conversationId: string;
  stopReason: StopReason;
}

// An option of a permission, or how to answer a form or an address. With `cancel` the agent goes on without an answer.
export type QuestionAnswer = { optionId: string } | { action: "accept" | "decline" | "cancel"; values?: FormValues };
export type FormValues = NonNullable<wire.QuestionAnswer["values"]>;
export type PermissionQuestion = Extract<wire.ConversationItem, { kind: "permission" }>;
export type FormQuestion = Extract<wire.ConversationItem, { kind: "form" }>;
export type UrlQuestion = Extract<wire.ConversationItem, { kind: "url" }>;

// The bytes of a file, as the runtime's own types name them: `Uint8Array` before TypeScript 5.7, and later
// `Uint8Array<ArrayBuffer>`, which fits into a Response or a Blob.
export type Bytes = ReturnType<InstanceType<typeof TextEncoder>["encode"]>;
