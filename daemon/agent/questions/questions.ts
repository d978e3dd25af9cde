import type { ConversationItem } from "@berth/contract/agent.ts";
import type { FormItem, PermissionItem, Question, QuestionAnswer, QuestionOutcome, UrlItem } from "@berth/contract/questions.ts";
import { AppError } from "@berth/contract/errors.ts";
import { badRequest } from "../../http/errors.ts";
import { newItemId } from "../conversations/conversation.ts";
import type { Thread, Turn } from "../thread.ts";
import { checkValues } from "./form-values.ts";

// The questions that a turn waits for, whichever way they are asked and answered.
export type QuestionItem = ConversationItem & Question;

const MAX_WAITING = 50;

// Shows a question and waits for its answer, which is `cancelled` if the turn ends first. `onAsked` gets the id of the item.
export async function ask<Asked extends Question>(
  { live }: Thread,
  turn: Turn,
  question: Asked,
  { onAsked = () => {} }: { onAsked?: (itemId: string) => void } = {},
): Promise<NonNullable<Asked["outcome"]>> {
  const item = { ...question, id: newItemId(), atMs: Date.now() } as QuestionItem;
  // No one could answer: a full conversation takes no more items, and no one reads that many.
  if (live.full || turn.waiting.size >= MAX_WAITING) return { type: "cancelled" };
  const answer = new Promise<QuestionOutcome>((resolve) => turn.waiting.set(item.id, resolve));
  live.endText();
  live.replace(item);
  onAsked(item.id);
  const outcome = await answer;
  live.replace({ ...item, outcome } as ConversationItem);
  return outcome as NonNullable<Asked["outcome"]>;
}

// The questions that wait for a person now, oldest first.
export function waitingQuestions({ live, turn }: Thread): QuestionItem[] {
  return [...(turn?.waiting.keys() ?? [])].flatMap((id) => (live.items.get(id) as QuestionItem | undefined) ?? []);
}

// Refused with `agent_answered` if it no longer waits, and with `bad_request` if the answer does not fit.
export function answerQuestion(thread: Thread, itemId: string, answer: QuestionAnswer): void {
  const item = waitingQuestions(thread).find(({ id }) => id === itemId);
  if (!item) throw new AppError("agent_answered");
  settle(thread.turn, itemId, item.kind === "permission" ? chosen(item, answer) : filledIn(item, answer));
}

// The end of the turn answers what still waits.
export function cancelQuestions(turn: Turn): void {
  for (const id of turn.waiting.keys()) settle(turn, id, { type: "cancelled" });
}

// No-op if it has been answered.
export function settle(turn: Turn | null, itemId: string, outcome: QuestionOutcome): void {
  const resolve = turn?.waiting.get(itemId);
  turn?.waiting.delete(itemId);
  resolve?.(outcome);
}

// An answer as it arrives in a body or a command.
export function parseAnswer({ optionId, action, values }: Record<string, unknown>): QuestionAnswer {
  if (typeof optionId === "string" && optionId !== "") return { optionId };
  if (action !== "accept" && action !== "decline" && action !== "cancel")
    throw badRequest("An answer has an optionId, or the action accept, decline or cancel");
  if (values === undefined) return { action };
  if (typeof values !== "object" || values === null || Array.isArray(values)) throw badRequest("values must be an object");
  return { action, values: values as NonNullable<Extract<QuestionAnswer, { action: string }>["values"]> };
}

function chosen({ options }: PermissionItem, answer: QuestionAnswer): QuestionOutcome {
  if (!("optionId" in answer) || !options.some(({ id }) => id === answer.optionId)) throw badRequest("optionId is not one of the options");
  return { type: "selected", optionId: answer.optionId };
}

function filledIn(item: FormItem | UrlItem, answer: QuestionAnswer): QuestionOutcome {
  if ("optionId" in answer) throw badRequest("A form or an address is answered with the action accept, decline or cancel");
  if (answer.action === "decline") return { type: "declined" };
  if (answer.action === "cancel") return { type: "cancelled" };
  return item.kind === "url" ? { type: "accepted" } : { type: "accepted", values: checkValues(item.fields, answer.values ?? {}) };
}
