import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { PermissionRule, ToolItem } from "@berth/contract/agent.ts";
import type { PermissionItem } from "@berth/contract/questions.ts";
import { ask } from "../questions/questions.ts";
import { decide } from "../rules/decide.ts";
import { toolFacts } from "../rules/tool-facts.ts";
import type { Thread, Turn, TurnPermissions } from "../thread.ts";

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

export interface AskOptions {
  workspace: string;
  templateRules: PermissionRule[];
}

// Asks a person, or answers as the rules, the caller of the turn or an earlier answer say.
export async function askPermission(
  thread: Thread,
  { toolCall, options }: RequestPermissionRequest,
  { workspace, templateRules }: AskOptions,
): Promise<RequestPermissionResponse> {
  const { turn, live } = thread;
  const facts = toolFacts([live.saidAbout(toolCall.toolCallId) ?? [], toolCall].flat(), workspace);
  const tool = live.tool(toolCall);
  if (!turn || turn.cancelled) return { outcome: { outcome: "cancelled" } };
  const action = actionOf(tool, toolCall.rawInput);
  const choices = choicesFor(
    action,
    options.slice(0, 20).map(({ optionId, name, kind }) => ({ id: optionId, name, kind })),
  );
  const isFixed = turn.permissions === "allow" || turn.permissions === "reject";
  const ruled = isFixed ? "ask" : decide(rulesOf(turn, templateRules), facts);
  const isAllowed = !isFixed && ruled === "ask" && action !== null && live.head.alwaysAllowed.includes(action);
  const answer = ruled === "ask" ? turn.permissions : ruled === "allow" ? "allow" : "reject";
  const decided = isAllowed ? choices.find(({ id }) => id === ALWAYS) : choose(answer, choices);
  // An agent that asks about everything reads many files.
  const isMinor = ruled === "allow" && (facts.tool === "read" || facts.tool === "search");
  if (isMinor && decided) return selected(decided.id, choices);
  const byRule = ruled === "ask" ? {} : { byRule: true as const };
  const question = { kind: "permission", toolItemId: tool.id, title: tool.title, options: choices, outcome: null } as const;
  if (decided) {
    live.add({ ...question, ...byRule, outcome: { type: "selected", optionId: decided.id } });
    return selected(decided.id, choices);
  }
  // A rule that denies is the last word, also if the agent offers no way to refuse.
  if (ruled === "deny") {
    live.add({ ...question, ...byRule, outcome: { type: "cancelled" } });
    return { outcome: { outcome: "cancelled" } };
  }
  const outcome = await ask<PermissionItem>(thread, turn, question);
  if (outcome.type !== "selected") return { outcome: { outcome: "cancelled" } };
  if (outcome.optionId === ALWAYS && action !== null)
    live.changeHead({ alwaysAllowed: [...new Set([...live.head.alwaysAllowed, action])] });
  return selected(outcome.optionId, choices);
}

// Completes "Always allow …". null if the agent does not say what kind of tool it wants to use.
function actionOf({ toolKind, title }: ToolItem, input: unknown): string | null {
  // A command, even if the agent names another kind of tool.
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

// The rules for a turn: those of its run come first.
export const rulesOf = ({ permissions }: Turn, templateRules: PermissionRule[]): PermissionRule[] =>
  typeof permissions === "string" ? templateRules : [...permissions, ...templateRules];

// Prefers the option for this one time over the permanent one.
function choose(answer: TurnPermissions, options: Options): Options[number] | undefined {
  if (answer === "ask" || typeof answer !== "string") return undefined;
  return options.find(({ kind }) => kind === `${answer}_once`) ?? options.find(({ kind }) => kind.startsWith(answer));
}
