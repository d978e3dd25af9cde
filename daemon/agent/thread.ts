import type { PermissionRule, PromptRequest } from "@berth/contract/agent.ts";
import type { QuestionOutcome } from "@berth/contract/questions.ts";
import type { AgentConnection } from "./program/connection.ts";
import type { LiveConversation } from "./conversations/conversation.ts";
import type { ModelBudget, TurnModel } from "./model/turn-model.ts";
import type { TurnProcesses } from "./turn-processes.ts";

// A conversation together with the agent's session for it and the turn in progress.
export interface Thread {
  readonly live: LiveConversation;
  sessionId: string | null;
  // Whether the session has had a prompt.
  prompted: boolean;
  // The connection that has this session loaded.
  loadedIn: AgentConnection | null;
  // Settles when the session that is being loaded is there.
  opening: Promise<void> | null;
  // The ids of the session options with the modes and the models, if the agent offers them as options.
  options: { mode: string | null; model: string | null };
  // The choices of a person. See session-choices.ts.
  readonly chosen: Set<string>;
  // The agent is repeating an old session: its updates are ignored, because the items already exist, or shown, if they do not.
  replaying: "ignored" | "shown" | null;
  turn: Turn | null;
  // A conversation without a prompt: a panel shows it, or it waits for one. null after the first prompt.
  draft: "shown" | "waiting" | null;
  // The next prompt tells the agent, which remembers other files.
  note: string | null;
}

// The files that change while a turn runs, shown in its conversation.
export interface TurnChanges {
  // Shows the changes so far, soon.
  refresh(): void;
  // A person saves a file at the same time.
  noteSave(path: string): void;
  // Shows the final changes. Never throws.
  finish(): Promise<void>;
}

// How questions for permission are answered during a turn.
export type TurnPermissions = NonNullable<PromptRequest["permissions"]> | PermissionRule[];

// The run that a turn works for.
export interface TurnRun extends ModelBudget {
  permissions: TurnPermissions;
  // Chooses the mode and the model, before the agent gets the prompt. Throws if the run must not go on.
  prepare(connection: AgentConnection): Promise<void>;
}

export interface Turn {
  permissions: TurnPermissions;
  // null if a person or POST /agent/prompt has begun it.
  run: TurnRun | null;
  cancelled: boolean;
  // Whether another turn was in progress during this one.
  shared: boolean;
  model: TurnModel;
  // null until the agent has the prompt.
  processes: TurnProcesses | null;
  // Settle the questions that wait for a person, by item id. questions.ts lists and answers them.
  waiting: Map<string, (outcome: QuestionOutcome) => void>;
  // The files that change in the meantime. null before the first checkpoint, and without one.
  changes: TurnChanges | null;
  // Ends the turn without the agent's answer.
  abandon: (error: Error) => void;
  // Resolves when the turn has ended, for whatever reason.
  over: Promise<void>;
}

export function createThread(live: LiveConversation, sessionId: string | null, chosen: string[]): Thread {
  return {
    live,
    sessionId,
    prompted: sessionId !== null,
    loadedIn: null,
    opening: null,
    options: { mode: null, model: null },
    chosen: new Set(chosen),
    replaying: null,
    turn: null,
    draft: null,
    note: null,
  };
}

// A turn that was cancelled ends in a moment. Resolves then; at once if there is none.
export async function afterStop(thread: Thread): Promise<void> {
  while (thread.turn?.cancelled) await thread.turn.over;
}
