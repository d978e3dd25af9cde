import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { ToolItem } from "@berth/contract/agent.ts";
import type { PermissionItem } from "@berth/contract/questions.ts";
import { ask } from "./questions/questions.ts";
import type { Thread, Turn } from "./thread.ts";

type Options = PermissionItem["options"];

// Our own option instead of the agent's. Agents mean different things by "always", such as every later command in every conversation, and
// offer no way back. We remember in the conversation what a person has allowed, and the agent only hears "once".
const ALWAYS = "always_in_this_conversation";

const ACTIONS: Partial<Record<ToolItem["toolKind"], string>> = {
  read: "reading files",
  edit: "changing files",
  delete: "deleting files",
  move: "moving files",
  search: "searching",
  execute: "running commands",
  fetch: "fetching from the network",
};

// Asks a person, or answers as the caller of the turn or an earlier answer says.
export async function askPermission(thread: Thread, { toolCall, options }: RequestPermissionRequest): Promise<RequestPermissionResponse> {
  const { turn, live } = thread;
  const tool = live.tool(toolCall);
  if (!turn || turn.cancelled) return { outcome: { outcome: "cancelled" } };
  const action = actionOf(tool, toolCall.rawInput);
  const choices = choicesFor(
    action,
    options.slice(0, 20).map(({ optionId, name, kind }) => ({ id: optionId, name, kind })),
  );
  const isAllowed = turn.permissions === "ask" && action !== null && live.head.alwaysAllowed.includes(action);
  const decided = isAllowed ? choices.find(({ id }) => id === ALWAYS) : decide(turn.permissions, choices);
  const question = { kind: "permission", toolItemId: tool.id, title: tool.title, options: choices, outcome: null } as const;
  if (decided) {
    live.add({ ...question, outcome: { type: "selected", optionId: decided.id } });
    return selected(decided.id, choices);
  }
  const outcome = await ask<PermissionItem>(thread, turn, question);
  if (outcome.type !== "selected") return { outcome: { outcome: "cancelled" } };
  if (outcome.optionId === ALWAYS && action !== null)
    live.changeHead({ alwaysAllowed: [...new Set([...live.head.alwaysAllowed, action])] });
  return selected(outcome.optionId, choices);
}

// Completes "Always allow …". null if the agent does not say what kind of tool it wants to use.
function actionOf({ toolKind, title }: ToolItem, input: unknown): string | null {
  // goose calls a command a tool of another kind.
  if (typeof input === "object" && input !== null && "command" in input) return ACTIONS.execute ?? null;
  const [name, ...rest] = title.split(" · ");
  return ACTIONS[toolKind] ?? (name && rest.length > 0 ? `the tool “${name.slice(0, 60)}”` : null);
}

function choicesFor(action: string | null, options: Options): Options {
  const has = (kind: string) => options.some((option) => option.kind === kind);
  if (!has("allow_once")) return options;
  const kept = options.filter(({ kind }) => kind !== "allow_always" && (kind !== "reject_always" || !has("reject_once")));
  const name = `Always allow ${action} in this conversation`;
  return has("allow_always") && action !== null ? [...kept, { id: ALWAYS, name, kind: "allow_always" }] : kept;
}

function selected(id: string, choices: Options): RequestPermissionResponse {
  const optionId = id === ALWAYS ? (choices.find(({ kind }) => kind === "allow_once")?.id ?? id) : id;
  return { outcome: { outcome: "selected", optionId } };
}

// Prefers the option for this one time over the permanent one.
function decide(permissions: Turn["permissions"], options: Options): Options[number] | undefined {
  if (permissions === "ask") return undefined;
  return options.find(({ kind }) => kind === `${permissions}_once`) ?? options.find(({ kind }) => kind.startsWith(permissions));
}
